"""Every component of every stage changes what its stage is there to change, in a training step that is typed as on the
command line (see `one_step`).

A step with ``--STAGE component`` is compared with the same step without it. Where the component is what GRPO has there
anyway, the step without it has another one. The first quantity in which the two differ is the stage's own: what comes
before it in the pipeline is the same, and what comes after follows from it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.agents.grpo.recipes.stages import STAGES

from .one_step import AGAIN, CUT, FEW, GUESS, HOT, OLD, RULER, SUMS, TAUGHT, THREE, TURNS, UNTRAINED, UPDATES, YES_NO  # isort: skip

FAR = f"{TURNS} --surrogate clip --lr 1e-1 --epochs 3"
"""Ratios far from 1, of episodes that fail, too."""
TREE = "split_tree(spacing=1,splits=1)"
ANSWER = "guided(trigger='always',where='chunks')"
VINE = "vine(at='token',every=1,continuations=2)"
LESSON = f"palaestra/TutorDialogue-v0 {UNTRAINED} --prompts 1 --samples 2 --recipe dpo"
BLOCKS = TURNS.replace("GuessNumber-v0 --axis bits=4", "Recurring-v0 --axis bits=4 episodes=2")
POKER = GUESS.replace(YES_NO, "palaestra/KuhnPoker-v0 --axis cards=3 hands=1 --context 1000")
CRITIC = f"{GUESS} --auxiliaries critic"
PRM = f"{GUESS} --steps 2 --auxiliaries implicit_prm(lr=1e-3)"

LINES: dict[str, str] = {
    "replay": AGAIN,
    "corrector": OLD,
    "surrogate": UPDATES,
    "regularisers": f"{UPDATES} --regularisers none",
    "reference": THREE,
    "guards": UPDATES,
}
"""Stage -> a step in which its components have something to act on; others act on the guesses."""

EXCEPTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "rollout": {
        "evolve": (RULER, f"evolve(programs=({str(Path(__file__).with_name('ruler_program.py'))!r},))"),
        "growing_groups": (f"{GUESS} --steps 4", "growing_groups(patience=1,gain=1.0)"),
        "guided": (GUESS, "guided(trigger='always')"),
        "independent": (f"{GUESS} --rollout greedy_twin", "independent"),
        "preferences": (GUESS, f"preferences(file={str(Path(__file__).with_name('preferences.jsonl'))!r})"),
        "roles": (GUESS, f"roles(file={str(Path(__file__).with_name('script_of_roles.toml'))!r})"),
        "rubric_refine": (SUMS, "rubric_refine"),
        "rule_pairs": (LESSON, "rule_pairs"),
        "search": (GUESS, "search(by='mcts(children=1,leaves=1)')"),
        "table": (POKER, "table"),
        "vine": (f"{GUESS} --returns success", f"{VINE} --returns segment_gain --baseline none"),
    },
    "logits": {
        "mixed": (GUESS, "mixed(reference='{untrained}',weight=0.5)"),
        "none": (f"{GUESS} --logits nucleus(top_p=0.1,least=1)", "none"),
        "nucleus": (GUESS, "nucleus(top_p=0.1,least=1)"),
        "shifted": (GUESS, "shifted(tuned='{untrained}',base='{trained}')"),
    },
    "thinking": {
        "none": (f"{GUESS} --thinking soft", "none"),
    },
    "filters": {
        "balanced": (GUESS, "balanced(keep=2)"),
        "fewer_failures": (f"{GUESS} --prompts 6 --samples 3", "fewer_failures"),
        "high_variance": (FEW, "high_variance(share=0.25)"),
        "max_variance": (GUESS, "max_variance(keep=2)"),
        "mixed_outcomes": (FEW, "mixed_outcomes"),
        "pass_rate": (FEW, "pass_rate"),
        "shortest": (GUESS, "shortest(keep=2)"),
        "sound": (TURNS, "sound"),
        "untruncated": (CUT, "untruncated"),
    },
    "replay": {
        "none": (f"{AGAIN} --replay prompt_replay", "none"),
        "self_imitation": (AGAIN, "self_imitation(threshold=0.0,good=1)"),
        "past_successes": (AGAIN, "past_successes(only_failed=False)"),
    },
    "auxiliaries": {
        "velocity": (GUESS, "velocity(lr=1e-2) --returns flow_return"),
        "critic": (GUESS, "critic --returns gae"),
        "implicit_prm": (f"{GUESS} --steps 2", "implicit_prm(lr=1e-3) --returns implicit_token"),
        "token_reward": (GUESS, "token_reward --adjustments token_reward_weight"),
    },
    "returns": {
        "dual_gae": (f"{TURNS} --auxiliaries critic --returns gae", "dual_gae(inner_decay=0.5)"),
        "flow_return": (f"{GUESS} --auxiliaries velocity", "flow_return"),
        "gae": (CRITIC, "gae"),
        "given": (f"{AGAIN} --replay recompose", "given --baseline none --scale none"),
        "implicit_token": (PRM, "implicit_token"),
        "implicit_turn": (PRM, "implicit_turn"),
        "kl_gae": (CRITIC, "kl_gae"),
        "kl_outcome": (f"{HOT} --steps 2", "kl_outcome"),
        "min_form": (f"{TURNS} --shaping count-bonus", "min_form"),
        "node_return": (f"{GUESS} --rollout {TREE}", "node_return"),
        "outcome": (f"{GUESS} --returns outcome_by_token", "outcome"),
        "outcome_by_turn": (TURNS, "outcome_by_turn"),
        "prioritised_terms": (f"{GUESS} --shaping count-bonus --steps 2", "prioritised_terms"),
        "process_to_go": (f"{TURNS} --shaping count-bonus", "process_to_go"),
        "round_return": (f"{BLOCKS} --returns turn_return", "round_return"),
        "rto": (TAUGHT, "rto"),
        "rto_gae": (f"{TAUGHT} --auxiliaries critic", "rto_gae"),
        "segment_gain": (f"{GUESS} --rollout {VINE}", "segment_gain"),
        "success": (f"{GUESS} --shaping count-bonus", "success"),
        "turn_gae": (f"{TURNS} --auxiliaries critic", "turn_gae"),
        "turn_return": (f"{TURNS} --shaping count-bonus", "turn_return"),
        "turn_reward": (f"{TURNS} --shaping count-bonus", "turn_reward"),
        "turning_point": (f"{GUESS} --rollout {VINE}", "turning_point"),
    },
    "baseline": {
        "anchor_state": (f"{TURNS} --returns turn_return(discount=0.9)", "anchor_state"),
        "depth_mean": (f"{GUESS} --rollout {TREE} --returns node_return", "depth_mean"),
        "drawn_mean": (f"{GUESS} --rollout adaptive_rounds", "drawn_mean"),
        "greedy": (f"{GUESS} --rollout greedy_twin", "greedy"),
        "group_mean": (f"{GUESS} --baseline leave_one_out --scale none", "group_mean"),
        "leave_one_out": (f"{GUESS} --scale none", "leave_one_out"),
        "own_mean": (TURNS, "own_mean"),
        "same_turn": (f"{TURNS} --returns turn_return(discount=0.9)", "same_turn"),
        "siblings": (f"{GUESS} --rollout {TREE} --returns node_return", "siblings"),
    },
    "scale": {
        "drawn_std": (f"{GUESS} --rollout adaptive_rounds", "drawn_std"),
        "group_std": (f"{GUESS} --scale none", "group_std"),
    },
    "adjustments": {
        "bounded": (GUESS, "bounded(low=-0.5,high=0.5)"),
        "dual_uncertainty": (f"{GUESS} --rollout perturbed_twin", "dual_uncertainty"),
        "given": (f"{AGAIN} --replay recompose", "given"),
        "hidden_rank": (GUESS, "hidden_rank(stride=1)"),
        "negative_hidden_reward": (GUESS, "negative_hidden_reward(beta=0.0)"),
        "shared_mean": (f"{TURNS} --recipe grpo --shaping count-bonus --rollout random_tree", "shared_mean"),
        "sigma_filter": (GUESS, "sigma_filter(sigmas=1.0)"),
        "sign_weights": (GUESS, "sign_weights(positive=0.5)"),
        "suffix_kl": (f"{GUESS} --steps 2", "suffix_kl"),
        "thoughts": (TURNS, "thoughts(term='success')"),
        "token_reward_weight": (f"{GUESS} --auxiliaries token_reward", "token_reward_weight"),
        "turn_discount": (TURNS, "turn_discount"),
        "turns_ahead": (TURNS, "turns_ahead"),
    },
    "masks": {
        "first_turns": (TURNS, "first_turns"),
        "hint_entropy": (f"{GUESS} --recipe igpo_inpainting --masks none --rollout {ANSWER}", "hint_entropy"),
        "last_turns": (TURNS, "last_turns"),
        "nonzero": (FEW, "nonzero"),
        "role": (f"{GUESS} --rollout self_play", "role(who='solver')"),
        "unguided": (f"{GUESS} --rollout guided(trigger='always',merge='add',count=2)", "unguided"),
        "pruned_depths": (f"{GUESS} --rollout {TREE}", "pruned_depths"),
        "pruned_width": (f"{GUESS} --rollout {TREE} --prompts 6", "pruned_width"),
        "until_success": (BLOCKS, "until_success"),
        "unshared": (f"{GUESS} --rollout {TREE}", "unshared"),
        "untruncated": (CUT, "untruncated"),
        "within_length": (GUESS, "within_length(share=0.4)"),
        "without_errors": (TURNS, "without_errors"),
    },
    "weights": {
        "duration": (TURNS, "duration"),
        "length_preference": (GUESS, "length_preference(power=1.0)"),
        "priorities": (f"{GUESS} --axis terms=2:6 --steps 3", "priorities"),
        "roles": (f"{GUESS} --rollout self_play", "roles(factors={'solver':0.5})"),
        "signs": (GUESS, "signs(positive=0.5)"),
        "turn_discount": (TURNS, "turn_discount"),
        "version_decay": (f"{AGAIN} --replay prompt_replay", "version_decay"),
    },
    "corrector": {
        "both": (OLD, "both(first=icepop(low=0.99,high=1.01))"),
        "none": (f"{OLD} --corrector importance", "none"),
        "outlier_token": (OLD, "outlier_token(floor=0.4)"),
    },
    "surrogate": {
        "by_origin": (f"{TURNS} --surrogate clip", "by_origin(teacher=shaped_ratio)"),
        "clip_preclipped": (HOT, "clip_preclipped(largest=1.25)"),
        "dual_clip": (FAR, "dual_clip(worst=1.25)"),
        "moving_clip": (f"{AGAIN} --lr 1e-2 --replay mix_policy --anchor policy --minibatches 2", "moving_clip"),
        "two_sided": (FAR, "two_sided(delta=1.25)"),
        "clip": (f"{UPDATES} --surrogate reinforce", "clip"),
        "distill": (f"{TAUGHT} --minibatches 3", "distill"),
    },
    "regularisers": {
        "kdrl": (TAUGHT, "kdrl"),
    },
    "reference": {
        "at_step": (THREE, "at_step(step=1)"),
        "frozen": (f"{THREE} --reference previous", "frozen"),
        "on_stall": (f"{THREE} --eval-every 1 --eval-episodes 1", "on_stall(patience=1,min_gain=2.0)"),
        "periodic": (THREE, "periodic(every=1)"),
        "reptile": (THREE, "reptile(inner=1)"),
    },
    "balance": {
        "amft": (f"{GUESS} --recipe chord_mu", "amft"),
        "none": (f"{GUESS} --recipe chord_mu --balance amft", "none"),
    },
    "reduction": {
        "sequence_mean": (f"{GUESS} --reduction token_mean", "sequence_mean"),
        "turn_mean": (f"{TURNS} --reduction sequence_mean", "turn_mean"),
    },
    "guards": {
        "at_most": (UPDATES, "at_most(statistic='entropy',limit=0.0)"),
        "max_clip_bias": (f"{HOT} --regularisers clip_bias", "max_clip_bias(limit=0.0)"),
        "max_clip_fraction": (HOT, "max_clip_fraction(limit=0.0)"),
        "max_kl": (UPDATES, "max_kl(limit=0.0)"),
        "max_token_change": (UPDATES, "max_token_change(limit=0.0)"),
        "min_ess": (UPDATES, "min_ess(share=1.0)"),
    },
}
"""Stage -> component -> the step without it, and what is typed after --STAGE, where these are others."""

CHANGES: dict[str, set[str]] = {
    "rollout": {"number", "prompts", "actions"},
    "logits": {"actions"},
    "thinking": {"actions"},
    "filters": {"episodes"},
    "replay": {"episodes"},
    "returns": {"credit"},
    "baseline": {"credit"},
    "scale": {"credit"},
    "adjustments": {"advantage"},
    "masks": {"tokens"},
    "weights": {"weight"},
    "balance": {"weight"},
    "corrector": {"factor"},
    "surrogate": {"surrogate"},
    "regularisers": {"penalty"},
    "reference": {"logp_ref"},
    "reduction": {"reduction"},
    "guards": {"updates"},
}
"""Stage -> the quantities of `step_record.RecordedLearner`, one of which its components change."""

READ_BY: dict[str, tuple[str, str]] = {
    "critic": ("value", "credit"),
    "implicit_prm": ("logp_prm", "credit"),
    "velocity": ("flow_deviation", "credit"),
    "token_reward": ("value", "advantage"),
}
"""Auxiliary model -> what it measures, and the quantity that a component then computes from it."""

METERS = {"clip_bias": "clip_correction"}
"""Regularisers without a gradient, and what they report."""

PARTS = [
    (stage, name) for stage, registry in STAGES.items() if stage not in ("measures", "source") for name in registry
]


@pytest.mark.parametrize(("stage", "name"), PARTS)
def test_a_component_changes_what_its_stage_is_there_to_change(stage, name, step):
    line, text = EXCEPTIONS.get(stage, {}).get(name, (LINES.get(stage, GUESS), name))
    plain, changed = step(line), step(f"{line} --{stage} {text}")
    if stage == "auxiliaries":
        measure, quantity = READ_BY[name]
        assert [values for values in changed.values("measured") if measure not in values] == []
        assert not any(measure in values for values in plain.values("measured"))
        assert {key for key in changed.metrics[-1] if key not in plain.metrics[-1]}  # of its own training
        assert plain.first_difference(changed) == quantity
    elif name in METERS:
        assert METERS[name] in set(changed.metrics[-1]) - set(plain.metrics[-1])
    else:
        # A tree or a vine samples as before, and branches off afterwards; the policy returns to its reference.
        further = {"vine": ("nodes",), "reptile": ("actions",)}.get(name, ())
        if stage != "reference":
            # Where other episodes have no advantage, others are compared with the reference, before all else.
            plain, changed = plain.without("logp_ref"), changed.without("logp_ref")
        assert plain.first_difference(changed) in {*CHANGES[stage], *further}
