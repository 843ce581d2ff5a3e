"""Protocols of several roles around a question: debate, proposer with solvers and judge, pioneer and observer, voting
panel, and scripts of files."""

from __future__ import annotations

from ....checks import check_count
from ..recipes.stages import ROLLOUTS
from .roles import Roles
from .scripts import debate, panel, pioneer_observer, proposer_solver_judge, read_script


@ROLLOUTS.register("debate")
class Debate(Roles):
    """Let a solver answer, a critic criticise and a scorer mark, in rounds (CoMAS, arXiv 2510.08529, section 3).

    The mark, 1 to 3, pays the solution (mark - 1) / 2 and the critique (3 - mark) / 2; a scorer gets -1 for an
    unreadable one.

    Args:
        rounds: rounds of solution, critique and mark.
        critics: critiques of each solution.
        horizon: past rounds that a solver sees.
        agents: agents, of whom a different one is drawn for each role in each round of a task: "agent_0" and so on,
            which ``--policies`` gives policies (4 in the paper, with twice as many rounds); 0: each role has a policy.
    """

    def __init__(self, rounds: int = 2, critics: int = 1, horizon: int = 2, agents: int = 0):
        self.rounds, self.critics, self.horizon, self.agents = rounds, critics, horizon, agents
        super().__init__(debate(rounds, critics, horizon, agents))


@ROLLOUTS.register("proposer_solver_judge")
class ProposerSolverJudge(Roles):
    """Let a proposer write questions, a solver answer them and those of the environment, and a judge score both
    (Multi-Agent Evolve, arXiv 2510.23595, section 3).

    The rewards are those of `rewards.terms.roles.MultiAgentEvolve`. Questions whose score is at least ``accepts`` enter
    the pool, from which half of the proposer's examples are taken.

    Args:
        solvers: answers to each question; 0: as many as the run's samples.
        pool: most questions in the pool.
        accepts: score from which a question enters the pool and its difficulty counts.
    """

    def __init__(self, solvers: int = 0, pool: int = 1000, accepts: float = 0.7):
        self.solvers, self.pool, self.accepts = solvers, pool, accepts
        super().__init__(proposer_solver_judge(solvers, pool, accepts))


@ROLLOUTS.register("pioneer_observer")
class PioneerObserver(Roles):
    """Let a pioneer answer and an observer, who sees the answer, answer too; both get the sum of their rewards (CORY,
    arXiv 2410.06101, section 4).

    Args:
        swap: updates after which the two exchange their policies (``--policies``); 0: never.
    """

    def __init__(self, swap: int = 5):
        self.swap = swap
        super().__init__(pioneer_observer(swap))


@ROLLOUTS.register("panel")
class Panel(Roles):
    """Let several members answer, and pay agreement with the vote of all, weighted by each member's agreement with
    itself (RLCCF, arXiv 2508.12338).

    Args:
        members: number of members, whose roles are "member_0" and so on.
    """

    def __init__(self, members: int = 3):
        self.members = check_count("members", members, 1)
        super().__init__(panel(members))


@ROLLOUTS.register("roles")
class RolesOfFile(Roles):
    """Play the script of a TOML file, see `scripts.read_script`.

    Args:
        file: the file.
    """

    def __init__(self, file: str):
        self.file = file
        super().__init__(read_script(file))
