"""Table of measures: every quantity that a reward, a teacher, a component or a rollout strategy can ask for.

Consumers list the measures that they read in ``needs``, by the names of this table. Producers are declared elsewhere:
environments list their measures in ``supplies``, components in ``provides``, and the learner's are registered in
`palaestra.agents.grpo.measures`. ``palaestra list measures`` joins both sides. A new quantity needs a row, see `add`:

    palaestra.rewards.measures.add("tidiness", "float", "share", "share of lines that are indented evenly")
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..errors import InputError, find_near
from ..registry import Registry


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """A row of the table of measures: the name, shape and unit of one quantity.

    Attributes:
        name: the name used in ``needs``, ``supplies`` and ``provides``.
        shape: form of the value of one episode, such as "float" or "[K + 1]", with K turns and T action tokens; "[N]"
            for quantities of a training batch of N tokens.
        unit: unit of the numbers, such as "nats" or "probability"; "" for data that is not a number.
        summary: one line of description.
        user_supplies: what the user must supply for the measure, if nothing in the package supplies it alone; else "".
    """

    name: str
    shape: str
    unit: str
    summary: str
    user_supplies: str = ""


MEASURES: Registry[MeasureSpec] = Registry("measure", table="measures")


def add(name: str, shape: str, unit: str, summary: str, user_supplies: str = "") -> MeasureSpec:
    """Add a row to the table and return it; see `MeasureSpec`.

    Raises:
        InputError: the name is taken.
    """
    measure = MeasureSpec(name, shape, unit, summary, user_supplies)
    MEASURES.add(name, measure)
    return measure


def check_names(what: str, names: Collection[str]) -> None:
    """Raise InputError, with similar names, if a name is not in the table. ``what`` begins the message: the object that
    lists the names."""
    for name in sorted(names):
        if name not in MEASURES:
            known = ", ".join(find_near(name, MEASURES)) or "see palaestra list measures"
            raise InputError(
                f"{what} names the measure {name!r}, which the table of measures does not have ({known}); "
                "add it with palaestra.rewards.measures.add."
            )


def list_user_supplies(names: Collection[str]) -> str:
    """Join the `MeasureSpec.user_supplies` texts of the named measures with commas; "" if the package supplies
    them all."""
    known = (MEASURES[name].user_supplies for name in sorted(names) if name in MEASURES)
    return ", ".join(dict.fromkeys(filter(None, known)))


# Measures of a task or an episode, supplied by environments.
_ENVIRONMENT = """
reference | text or data | | what the verifier compares an answer with
solution_steps | list of text | | the worked solution, one step a line, the answer last
rationale | text | | the worked solution as a data set's record has it, where it differs from the steps
criteria | list of text | | what a good solution meets, without the answer
rubric | list of criteria | | weighted criteria for a judge, as the reward "rubric" reads them
feedback | text | | the environment's words on the newest action
allowed_answers | list of text | | the answers that the task admits
passage | list of text | | the text before the answer's place, the text there, and the text after it
tests | data | | results of a program's tests
test_report | text | | the first failing test: input, expected and received value, error
output_streams | data | | what a program writes, "expected", and what the answer says or writes, "given", by stream
evolved_program | text | | the program that an answer makes of its parent
milestones | data | | stages of a program that were reached
tool_calls | list of calls | | tool calls made so far, {"name", "arguments"} each
expected_calls | list of calls | | right calls, {"name", "parameters"} each
tool_errors | list of bool | | for each tool call made, True if it failed
gold_documents | list of text | | titles of the documents in which the answer stands
retrieved_documents | lists of text | | for each tool call made, the titles of the documents that it brought
positions | [K + 1, 2] | cells | places of the agent in the states 0..K
waypoints | [W, 2] | cells | places through which a planner leads, the goal last
goal_distance | [K + 1] | steps | length of the shortest plan from each state
achieved | [K] lists of names | | subgoals achieved by each step
worse_actions | [K] | | for each turn, an action that the rules of the environment call worse than the right one
potentials | [K + 1] | reward | potential of each state
completion | [K] | share | share of the task completed after each step
forbidden | bool | | a policy forbids what the request asks for
solved | bool | | an episode of the block was a success
rounds | [K] | | for each step, the number of its episode in the block, from 0
figures | {name: float} | | at the end, numbers of the whole episode that an evaluation averages
safe | bool | | at the end, nothing was changed that binds somebody and was not asked for
soft_factors | [K] | factor | penalty of soft limits violated at each step | a control task with soft limits
hard_violation | bool | | a hard limit ended the episode | a control task with hard limits
sql_reference | data | | the gold query, and its databases or its dialect
objective | float | | value that a search maximises
dense_reward | float | reward | a dense reward of the environment, added under its sign
memory_length | int | characters | length of what the agent keeps in memory
source_length | int | characters | length of what it has read
memory_calls | [K] lists of bool | | for each step, which of its commands on the memory worked
memory_stores | [K] lists of bool | | for each step, which of the texts written stand in the store of their facts
target_tokens | int | tokens | length that the prompt asks for
"""

# Measures that the learner computes after an episode was played.
_LEARNER = """
logps | [T] | nats | log-probability of each sampled token
logps_without_prompt | [T] | nats | the same without the prompt before it
token_contrast | [T] | probability | how much likelier a request for a good reply makes each token, -1/2 to 1/2
thought_logps | [K] | nats | log-probability of the text that follows, after a thought
base_logps | [K] | nats | the same without the thought, under a frozen or averaged policy
positive_logps | [P] | nats | log-probability of satisfied replies to the answer
negative_logps | [P] | nats | log-probability of dissatisfied replies to the answer
echo_logps | [Q] | nats | log-probability of the prompt's tokens given the answer
echo_run | int | words | length of the copies of the prompt that were removed from the answer before
token_confidence | lists of [T] | nats | minus the mean log-probability of each token's likeliest ones, a list a step
policy_entropy | float | nats | mean entropy of the tokens sampled
least_confidence | float | probability | mean of 1 minus the probability of the likeliest token
min_margin | float | probability | mean gap between the two likeliest tokens
transition_loss | float | squared error | error of a model of the environment's answers
angle_concentration | float | cosines | cosines of the question's hidden states, + 8 x theirs with the prefix (GAIN-RL)
value_l1 | float | return | mean absolute advantage (GAE) of the steps, from a critic
positive_value_loss | float | return | mean of the positive parts of the advantages
signed_value_loss | float | return | mean advantage
one_step_td | float | return | mean absolute one-step TD error
mean_value | float | return | mean value of the states, from a critic
negative_advantage | float | return | sum of the maximised negative advantages (MNA)
antagonist_return | float | return | mean return of another student on the same task | the returns of a second student
features | [H] | | mean hidden state of the answer's tokens
reference_features | [H] | | mean hidden state of the reference answer's tokens in its place
token_features | [T, H] | | hidden state of each token of the last action
reference_token_features | [R, H] | | hidden state of each token of the reference answer in its place
gradient_features | [H] | | gradient of the answer's log-probability in the states that predict it (G2RL)
answer_dispersion | float | share | entropy of a group's answers over ln K; of permutations, (different - 1) / (G - 1)
beam_rank | int | rank | place of the answer among the beams of its task, from 0, the likeliest first
form_boxed | float | share | 1 for an answer in a box, else 0
form_tag | float | share | 1 for an answer between tags, else 0
form_bare | float | share | 1 for an answer that stands alone, else 0
won_boxed | float | share | 1 if an answer in a box succeeded, else 0; None for other answers
won_tag | float | share | 1 if an answer between tags succeeded, else 0; None for other answers
won_bare | float | share | 1 if an answer that stands alone succeeded, else 0; None for other answers
options | int | answers | number K of answers that the task admits
permutation | int | items | number of items that an answer puts in order
system_text | text | | system text with which the episode was played
pair | text | | name shared by a task and its rephrasing
teacher_answer | text | | answer of a slow copy of the policy
refusal | float | share | 1 if the reply refuses
over_refusal | float | share | 1 if the reply refuses an allowed request, 0 if it does not; None for a forbidden one
objective_rewards | {name: float} | reward | reward of each of several objectives, without its weight in their sum
program_value | data | | what a reward program returned: sparse, dense terms by name, or an error
"""

# Measures that need further queries: completions, judges, models.
_PROBERS = """
prefix_values | [K + 1] | probability | success of answers forced after each part, the empty prefix first
coalition_values | [2^K] | reward | value of the episode with each subset of its turns
step_scores | [K] | score | score of each step by a process reward model or a judge
step_labels | [K] | bool | True for a correct step; in a wrong solution, one that leads to its answer
wrong_step | int | steps | index of the first wrong step of a failed episode; of a success, the number of its steps
process_score | float | probability | quality of the reasoning
thinking_score | float | probability | quality of the reasoning, for success-dependent trust
consistency | float | probability | agreement of reasoning and answer
judge_score | float | probability | a judge's score of the answer
reward_model_score | float | score | score of a reward model
reference_scores | [R] | score | its scores of reference answers to the same task
token_episode | data | | the episode in the tokens of a reward model | a reward model with tokens of its own, prm=
span_weights | [T] | share | a judge's score of the reply x that of each token's sentence (at least 1/2)
atom_scores | [A] | score | scores of the atomic thoughts of the reasoning
mark | float | score | mark that another agent gave
agent | text | | which of several agents wrote the episode | several policies, whose episodes say whose they are
solver_scores | [S] | score | scores of the solvers of a proposed task | models that solve a proposed task
"""

# Measures of a batch of N tokens, read by components of the loss.
_BATCH = """
logp_old | [N] | nats | log-probability under the policy before the update
logp_ref | [N] | nats | under the reference policy
logp_teacher | [N] | nats | under the model to distil from
teacher_model | flag | | the run has a model to distil from, which can be sampled
logp_prm | [N] | nats | under the implicit process reward model
entropy | [N] | nats | entropy of the policy's distribution at each token
entropy_grad | [N] | nats | the same with gradient
kl_ref | [N] | nats | KL divergence to the reference over the whole vocabulary, with gradient
flow_deviation | [N] | squared error | error of a velocity network at each token's hidden state
value | [N] | reward | a critic's value of the state before each token
hidden | [N, H] | | last hidden state that predicts each token
head | function | nats | logits of given ids from hidden states
gradient_influence | [O, O] | | inner products of the gradients of several objectives
prompt_logp | [N] | nats | log-probability of each prompt token
prompt_divergence | [N] | nats | divergence between the distributions after two wordings of a prompt
twin_prompt | list of int | tokens | the task's prompt in other words
top_tokens | [N, k] | nats | log-probabilities of the likeliest tokens
nodes | tree | | the tree that the episodes of a group form
node_values | tree | reward | values of the tree's states
greedy | float | reward | return of a greedy episode of the task
drawn | [D] | reward | returns of all episodes drawn before some were kept
batch | flag | | the component sees the whole optimiser batch at once
seconds | [K] | seconds | duration of the environment's step after each action
every_row | flag | | rows without advantage are scored as well
zero_at_reference | flag | | where the policy is its reference, the gradient is 0
anchor | flag | | ratios are taken against the policy before the update
after_update | flag | | the guard judges an update by what it did
"""

for _table in (_ENVIRONMENT, _LEARNER, _PROBERS, _BATCH):
    for _line in _table.strip().splitlines():
        add(*(part.strip() for part in _line.split("|")))
