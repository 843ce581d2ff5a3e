"""Completion scripts for bash, zsh and fish, made from the words of ``palaestra completion``.

Each script finds the command and the option at the cursor, and offers the words that are possible there; if there are
none, the shell completes file names. Bash and zsh share the part that finds the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_FIND = """\
# Takes the words behind the program's name up to the cursor; sets found to what the last of them can become.
__palaestra_find() {
  local name="$1" option="" begun=""
  found=""
  if [ $# -le 1 ]; then
    found="@COMMANDS@"
    return
  fi
  shift
  case "$name" in
    @GROUPS@)
      if [ $# -le 1 ]; then
        case "$name" in
@MEMBERS@
        esac
        return
      fi
      name="$name $1"
      shift
      ;;
  esac
  while [ $# -gt 1 ]; do
    case "$1" in
      -*)
        case "$name $1" in
          @FLAGS@) option="" ;;
          *) option="$1" ;;
        esac
        ;;
      *)
        case "$name $option" in
          @SINGLES@) option="" ;;
        esac
        ;;
    esac
    shift
  done
  begun="$1"
  case "$begun" in
    -*)
      case "$name" in
@OPTIONS@
      esac
      return
      ;;
  esac
  case "$name $option" in
@VALUES@
  esac
}
"""
_BASH = """\
# Completion of palaestra in bash.
@FIND@
_palaestra() {
  local found begun="${COMP_WORDS[COMP_CWORD]}"
  __palaestra_find "${COMP_WORDS[@]:1:COMP_CWORD}"
  COMPREPLY=($(compgen -W "$found" -- "$begun"))
  # An id can be begun without its namespace.
  if [ ${#COMPREPLY[@]} -eq 0 ] && [ -n "$begun" ]; then
    COMPREPLY=($(compgen -W "$found" -- "palaestra/$begun"))
  fi
}
complete -o bashdefault -o default -F _palaestra palaestra
"""
_ZSH = """\
#compdef palaestra
# Completion of palaestra in zsh.
@FIND@
_palaestra() {
  local found
  __palaestra_find "${(@)words[2,CURRENT]}"
  # A name can be begun anywhere, such as behind its namespace.
  { [[ -n "$found" ]] && compadd -M 'l:|=*' -- ${=found} } || _files
}
if [ "$funcstack[1]" = "_palaestra" ]; then
  _palaestra "$@"
else
  compdef _palaestra palaestra
fi
"""
_FISH = """\
# Completion of palaestra in fish.
function __palaestra_find
    set -l typed (commandline -opc)
    set -l begun (commandline -ct)
    set -e typed[1]
    if test (count $typed) -eq 0
        string split ' ' '@COMMANDS@'
        return
    end
    set -l name $typed[1]
    set -e typed[1]
    switch $name
        case @GROUPS@
            if test (count $typed) -eq 0
                switch $name
@MEMBERS@
                end
                return
            end
            set name "$name $typed[1]"
            set -e typed[1]
    end
    set -l option ''
    for word in $typed
        switch $word
            case '-*'
                switch "$name $word"
                    case @FLAGS@
                        set option ''
                    case '*'
                        set option $word
                end
            case '*'
                switch "$name $option"
                    case @SINGLES@
                        set option ''
                end
        end
    end
    if string match -q -- '-*' "$begun"
        switch $name
@OPTIONS@
        end
        return
    end
    switch "$name $option"
@VALUES@
        case '*'
            __fish_complete_path "$begun"
    end
end
complete -c palaestra -f -a '(__palaestra_find)'
"""


@dataclass(frozen=True)
class CompletionWords:
    """Words for completion.

    Attributes:
        commands: command -> its subcommands; the key "" has the commands of the program itself.
        options: command, such as "bench teachers" -> its options.
        flags: keys such as "train --lora" of options without a value.
        singles: keys of options that take one value.
        values: words -> the keys of options whose value is one of these words. A key that ends in a space, "train ",
            stands for the positional arguments of the command.
    """

    commands: dict[str, tuple[str, ...]]
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    singles: list[str] = field(default_factory=list)
    values: dict[tuple[str, ...], list[str]] = field(default_factory=dict)


def render_script(shell: str, words: CompletionWords) -> str:
    """Return the script for "bash", "zsh" (to be sourced, or put in a folder of ``fpath``) or "fish"."""
    if shell == "fish":
        template, quoted, between = _FISH, "'{}'", " "
        case, indents = "{0}case {1}\n{0}    string split ' ' -- '{2}'", (20, 12, 8)
    else:
        template, quoted, between = {"bash": _BASH, "zsh": _ZSH}[shell].replace("@FIND@", _FIND), '"{}"', "|"
        case, indents = '{0}{1}) found="{2}" ;;', (10, 8, 4)

    def either(keys: Iterable[str]) -> str:
        return between.join(map(quoted.format, keys))

    def cases(pairs: Iterable[tuple[Iterable[str], Iterable[str]]], indent: int) -> str:
        return "\n".join(case.format(" " * indent, either(keys), " ".join(of)) for keys, of in pairs)

    groups = {name: members for name, members in words.commands.items() if name}
    members, options, values = indents
    parts = {
        "COMMANDS": " ".join(words.commands[""]),
        "GROUPS": either(groups),
        "MEMBERS": cases((([name], of) for name, of in groups.items()), members),
        "FLAGS": either(words.flags),
        "SINGLES": either(words.singles),
        "OPTIONS": cases((([name], of) for name, of in words.options.items()), options),
        "VALUES": cases(((keys, of) for of, keys in words.values.items()), values),
    }
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template
