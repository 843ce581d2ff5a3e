from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.design import read_program


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def reward(episode) return 1", "line 1 is no Python: expected ':'"),
        ("def reward(episode):\n    import os\n    return 0, 0", "line 2: the import of 'os' is refused"),
        ("from os import path\ndef reward(e): return 0, 0", "line 1: the import from 'os' is refused"),
        ("from .math import pi\ndef reward(e): return 0, 0", "the import from '.math' is refused"),
        ("import math as __builtins__\ndef reward(e): return 0, 0", "line 1: the import of 'math' is refused"),
        ("def reward(e): return 0, len(open('x').read())", "line 1: the builtin 'open' is refused"),
        ("def reward(e): return eval('0, 0')", "the builtin 'eval' is refused"),
        ("def reward(e): return ().__class__, 0", "the attribute '__class__' is refused"),
        ("import math\ndef reward(e):\n    math.pi = 3\n    return 0, 0", "line 3: assignment to the attribute 'pi'"),
        ("def reward(e): return 0, __file__", "the name '__file__' is refused"),
        ("class A: pass\ndef reward(e): return 0, 0", "line 1: a class is not part of reward programs"),
        ("n = 0\ndef reward(e):\n    global n\n    return 0, 0", "line 3: global is not part"),
        ("def score(episode): return 0, 0", "defines no function reward(episode)"),
        ("def reward(): return 0, 0", "line 1: reward must take one argument"),
        ("def reward(episode, other): return 0, 0", "line 1: reward must take one argument"),
        ("return 1", "line 1 is no Python: 'return' outside function"),
        ("def reward(e): return " + "(" * 5000 + ")" * 5000, ""),
        ("#" * 20_001, "at most 20000 characters, not 20001"),
        ("def reward(e): return '\0'", ""),
    ],
)
def test_a_text_that_is_no_program_is_refused_with_its_first_fault(text, fault):
    with pytest.raises(InputError) as caught:
        read_program(text)
    assert fault in str(caught.value)


def test_a_program_of_functions_comprehensions_and_allowed_modules_is_accepted():
    program = read_program(
        "import math\nfrom collections import Counter\n\ndef score(turns):\n"
        "    return math.log1p(len({t['action'] for t in turns}))\n\ndef reward(episode, weight=0.5):\n"
        "    total = 0\n    for name, count in Counter(t['action'] for t in episode['turns']).items():\n"
        "        total -= count > 1\n    return 0, {'new': weight * score(episode['turns']), 'old': total}"
    )
    assert program.needs == frozenset()


def test_it_needs_the_measures_that_it_reads():
    program = read_program(
        "def reward(episode):\n"
        "    path = episode['goal_distance']\n"
        "    first = episode.get('potentials')\n"
        "    said = [turn['feedback'] for turn in episode['turns']]\n"
        "    terms = {'value': 1.0, 'completion': 2.0}\n"
        "    return 0, terms"
    )
    assert program.needs == {"goal_distance", "potentials"}
