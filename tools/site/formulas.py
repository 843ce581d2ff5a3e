"""LaTeX formulas of the learner's components, and of a recipe as the sum of its parts; converted to MathML, which
browsers draw without a script.

Symbols: pi the policy, pi_old the anchor of ratios, mu the sampler, pi_ref the reference, r = pi / pi_old, l = log r, A
the advantage, R the return of a unit, b its baseline, sg a value without gradient. i runs over episodes (or units), t
over tokens.
"""

from __future__ import annotations

import functools
from typing import Any

_CLIP = r"\min\!\left(r_t A_t,\ \mathrm{clip}(r_t, 1-\epsilon_{low}, 1+\epsilon_{high})\,A_t\right)"
_S = r"s=\exp\!\left(\frac{1}{|y|}\sum_t \log r_t\right)"
_REF = r"s=\log\pi(y)-\log\pi_{ref}(y)"
_D = r"d_t=\log\pi_{ref,t}-\log\pi_t"

SURROGATES: dict[str, str] = {
    "aspo": r"\mathrm{sg}(\rho_t)\,A_t\log\pi_t\ \text{within the clip},"
    r"\quad \rho_t=\min(1/r_t,\kappa)\ \text{if}\ A_t>0,\ \min(r_t,\kappa)\ \text{else}",
    "asymre": r"(A_t+\delta)\log\pi_t",
    "bapo": r"\min\!\left(r_t A_t,\ \mathrm{clip}(r_t, b_{low}, b_{high})\,A_t\right)",
    "by_origin": r"\mathcal{L}^{(o_t)}_t,\quad o_t\ \text{the origin of token}\ t",
    "cispo": r"\mathrm{sg}\!\left(\mathrm{clip}(r_t, f, \kappa)\right) A_t\log\pi_t",
    "clip": _CLIP,
    "clip_cov": _CLIP + r"\ \text{without a share of tokens of large covariance}",
    "clip_preclipped": _CLIP + r",\quad |\log r_t|\le\log\kappa",
    "dcpo": r"\min\!\left(r_t A_t,\ \mathrm{clip}\!\left(r_t, \frac{1+\sqrt{\max(1-4\epsilon_{low}/q_t,0)}}{2},"
    r" \frac{1+\sqrt{1+4\epsilon_{high}/q_t}}{2}\right) A_t\right),\quad q_t=\pi_{old,t}",
    "distill": r"r_t\,\mathrm{sg}\!\left(\log\pi_{T,t}-\log\pi_t\right)",
    "dpo": r"\log\sigma\!\left(\beta(s_w-s_l)\right),\quad " + _REF,
    "dppo_kl": r"r_t A_t\ \text{while}"
    r"\ \mathrm{KL}\!\left(\mathrm{Ber}(\pi_{old,t})\,\|\,\mathrm{Ber}(\pi_t)\right)\le\epsilon",
    "dppo_tv": r"r_t A_t\ \text{while}"
    r"\ -\epsilon_{low}\le\pi_t-\pi_{old,t}\le\epsilon_{high}\ \text{on the side of}\ A_t",
    "dro": r"A_t\log\pi_t-\frac{\beta}{2}\,l_t^2",
    "dual_clip": r"\max\!\left(" + _CLIP + r",\ \kappa A_t\right)\ \text{if}\ A_t<0",
    "entropy_weighted_likelihood": r"c\,e^{p\,\mathrm{sg}(\bar H)}\log\pi_t",
    "flow_rl": r"-w\left(\log Z+\overline{\log\pi}-\beta\bar A-\overline{\log\pi_{ref}}\right)^2",
    "gmpo": r"A\exp\!\left(\frac{1}{|y|}\sum_t \mathrm{clip}(\log r_t, -\epsilon_{low}, \epsilon_{high})\right)",
    "gspo": r"\min\!\left(sA,\ \mathrm{clip}(s, 1-\epsilon_{low}, 1+\epsilon_{high})A\right),\quad " + _S,
    "gspo_token": r"\min\!\left(s_t A_t,\ \mathrm{clip}(s_t, 1-\epsilon_{low}, 1+\epsilon_{high})A_t\right),"
    r"\quad s_t=\mathrm{sg}(s)\frac{\pi_t}{\mathrm{sg}(\pi_t)}",
    "gvpo": r"-\frac{1}{2\beta}\left((\beta l_i-\overline{\beta l})-(A_i-\bar A)\right)^2",
    "hinge_rank": r"-\max(0,\ d_{expert}-d_{own}+m)",
    "ipo": r"r_t A_t\ \text{while}\ |\pi_t-\pi_{old,t}|\le\epsilon",
    "ipo_pairs": r"-\left(s_w-s_l-\frac{1}{2\beta}\right)^2,\quad " + _REF,
    "kimi": r"A\sum_t\log\pi_t-\frac{\tau}{2}\left(\sum_t l_t\right)^2",
    "kl_cov": r"r_t A_t-c\,|l_t|\ \text{at tokens of the largest covariance}",
    "kto": r"\lambda_d\,\sigma(s-z)\ \text{if desirable},\ \lambda_u\,\sigma(z-s)\ \text{else},"
    r"\quad s=\beta\log\frac{\pi(y)}{\pi_{ref}(y)}",
    "likelihood": r"\log\pi_t",
    "log_ratio_regression": r"-(\beta s-A)^2,\quad " + _REF,
    "lp_reg": r"\mathrm{clip}(r_t, 0, \kappa)\,A_t",
    "moving_clip": r"\min\!\left(q_t A_t,\ \mathrm{clip}(q_t, m_t-\epsilon_{low}, m_t+\epsilon_{high})A_t\right),"
    r"\quad q_t=\frac{\pi_t}{\mu_t},\ m_t=\frac{\pi_{old,t}}{\mu_t}",
    "none": r"0",
    "opmd": r"\frac{A_t\log\pi_t}{1+\tau}",
    "pacs": r"R_i\log\sigma(z_i)+(1-R_i)\log(1-\sigma(z_i)),\quad z_i=q_i-\bar q_{-i},\ q_i=\beta\sum_t l_{i,t}",
    "prdp": r"-\overline{\left((R_a-R_b)-\beta(s_a-s_b)\right)^2},\quad " + _REF,
    "ratio": r"r_t A_t",
    "rec": r"\mathrm{sg}(w_t)\,A_t\log\pi_t\ \text{where the clip has a gradient}",
    "reinforce": r"A_t\log\pi_t",
    "rl_plus": r"A_t\left(1-\mathrm{sg}(\pi_t)\right)^{\gamma}\frac{2\pi_t}{\pi_{old,t}+(\pi_{old,t}+1)/2}",
    "rollout_is": r"r_t A_t\ \text{where}\ \epsilon_{low}\le r_t\le\epsilon_{high}",
    "rpg": r"r_t A_t-\beta f(r_t)",
    "rrhf": r"-\sum_{l<w}\max(0, p_l-p_w)+c\log\pi(y_{best}),\quad p=\frac{1}{|y|}\sum_t\log\pi_t",
    "sapo": r"\frac{4}{\tau}\,\sigma\!\left(\tau(r_t-1)\right)A_t,"
    r"\quad \tau=\tau_{+}\ \text{if}\ A_t>0,\ \tau_{-}\ \text{else}",
    "sft_is": r"\mathrm{sg}(\pi_t)\log\pi_t",
    "sft_phi": r"\mathrm{sg}\!\left(\pi_t(1-\pi_t)\right)\log\pi_t",
    "shaped_importance": r"\frac{r_t}{r_t+\gamma}\,A_t",
    "shaped_ratio": r"\frac{\pi_t}{\pi_t+\gamma}\,A_t",
    "sppo": r"-\left(\sum_t l_t-\eta\left(P-\frac{1}{2}\right)\right)^2",
    "t_reg": r"\log\sigma(\beta(s_w-s_l))+\alpha\,\sigma(\beta(s_l-s_w))(R_w+R_l),\quad R=\beta\sum_t A_t\log\pi_t,\ "
    + _REF,
    "topr": r"\mathrm{sg}\!\left(\mathrm{clip}\!\left(\frac{\pi}{\mu}, a^{\pm}, b^{\pm}\right)\right)A_t\log\pi_t",
    "tr_grpo": r"w_t\," + _CLIP + r",\quad w_t=\mathrm{clip}\!\left(c(\sigma(k\,\mathrm{sg}(\pi_t))-m), a, b\right)",
    "two_sided": r"\min\!\left(\min(r_t,\delta)A_t,\ \mathrm{clip}(r_t, 1-\epsilon_{low}, 1+\epsilon_{high})A_t\right)",
    "vespo": r"\mathrm{sg}(\phi(W))\,A_t\log\pi_t,"
    r"\quad \phi(W)=e^{\lambda}W^k e^{-\lambda W},\ W=\frac{\pi(y)}{\mu(y)}",
}

REGULARISERS: dict[str, str] = {
    "entropy_bonus": r"-c\,H(\pi_t)",
    "entropy_target": r"-c_k\,H(\pi_t)\ \text{while}\ \bar H\le H^{*}",
    "imitation": r"-c\log\pi_t",
    "kdrl": r"\frac{c}{2}\left(\log\pi_t-\log\pi_{T,t}\right)^2",
    "kl_abs": r"c\,|d_t|,\quad " + _D,
    "kl_by_difficulty": r"c_g\left(e^{d_t}-d_t-1\right),\quad " + _D,
    "kl_convex": r"c\left(\lambda\,\mathrm{KL}(\pi\|\pi_{ref})+(1-\lambda)\,\mathrm{KL}(\pi\|\pi_{last})\right)",
    "kl_forward": r"c\left(d_t e^{d_t}-e^{d_t}+1\right),\quad " + _D,
    "kl_full": r"c\sum_v\pi_t(v)\log\frac{\pi_t(v)}{\pi_{ref,t}(v)}",
    "kl_k2": r"\frac{c}{2}\,d_t^2,\quad " + _D,
    "kl_k3": r"c\left(e^{d_t}-d_t-1\right),\quad " + _D,
    "kl_k3_unbiased": r"c\,r_t\left(e^{d_t}-d_t-1\right),\quad " + _D,
    "log_ratio_square": r"c\,l_t^2",
}

BASELINES: dict[str, str] = {
    "batch_mean": r"\frac{1}{M}\sum_j R_j",
    "beta_tracker": r"\frac{a_x}{a_x+b_x}",
    "ema": r"b\leftarrow\lambda b+(1-\lambda)R_i",
    "fixed": r"c",
    "greedy": r"R(y_{greedy})",
    "group_mean": r"\frac{1}{G}\sum_j R_j",
    "leave_one_out": r"\frac{1}{G-1}\sum_{j\ne i}R_j",
    "length_weighted": r"\frac{\sum_j n_j R_j}{\sum_j n_j}",
    "log_mean_exp": r"\tau\log\frac{1}{G}\sum_j e^{R_j/\tau}",
    "median": r"\mathrm{median}_j R_j",
    "none": r"0",
    "optimal_token": r"\frac{\sum_j W_{j,t}R_j}{\sum_j W_{j,t}}",
    "quantile": r"Q_q(R_1,\ldots,R_G)",
    "virtual_best": r"\frac{1}{G+1}\left(R_{best}+\sum_j R_j\right)",
}

SCALES: dict[str, str] = {
    "batch_std": r"\frac{R_i-b_i}{\mathrm{std}_{batch}(R)+\epsilon}",
    "group_std": r"\frac{R_i-b_i}{\mathrm{std}_j(R_j)+\epsilon}",
    "max_abs": r"\frac{R_i-b_i}{\max_j|R_j-b_j|}",
    "mean": r"\frac{R_i-b_i}{\bar R}",
    "none": r"R_i-b_i",
    "sign": r"\mathrm{sign}(R_i-b_i)",
    "whiten": r"\frac{(R_i-b_i)-\mathrm{mean}_{tokens}}{\mathrm{std}_{tokens}+\epsilon}",
    "whiten_units": r"\frac{(R_i-b_i)-\mathrm{mean}_{units}}{\mathrm{std}_{units}+\epsilon}",
}

REDUCTIONS: dict[str, str] = {
    "constant": r"\frac{1}{N\,L}",
    "delta_l": r"\frac{|y_i|^{-\alpha}}{L\sum_j|y_j|^{-\alpha}}",
    "prompt_mean": r"\frac{1}{N_{groups}\,\sum_{j\in g}|y_j|}",
    "sequence_mean": r"\frac{1}{N\,|y_i|}",
    "sequence_sum": r"\frac{1}{N}",
    "token_mean": r"\frac{1}{\sum_j|y_j|}",
    "turn_mean": r"\frac{1}{N\,K_i\,|y_{i,k}|}",
}

FORMULAS: dict[str, dict[str, str]] = {
    "surrogate": SURROGATES,
    "regularisers": REGULARISERS,
    "baseline": BASELINES,
    "scale": SCALES,
    "reduction": REDUCTIONS,
}
"""Stage -> component -> its formula. Other stages and components are described in words."""


@functools.cache
def mathml(latex: str) -> str:
    """Return LaTeX as one line of display MathML."""
    from latex2mathml.converter import convert

    # Browsers ignore the negative space of \\!, which the converter writes by its old name.
    return " ".join(convert(latex.replace(r"\!", ""), display="block").split())


def recipe_formulas(recipe: Any) -> list[tuple[str, str]]:
    """List (title, LaTeX) for a recipe's objective and for each part that has a formula."""
    parts = [
        ("The objective, maximised", r"\mathcal{J}=\sum_i\sum_t w_{i,t}\left(\mathcal{L}_{i,t}-\Omega_{i,t}\right)")
    ]
    if recipe.surrogate.name in SURROGATES:
        parts.append((f"Surrogate {recipe.surrogate.name}", rf"\mathcal{{L}}_t={SURROGATES[recipe.surrogate.name]}"))
    for number, term in enumerate(recipe.credit, 1):
        mark = "" if len(recipe.credit) == 1 else f"^{{({number})}}"
        if term.baseline.name in BASELINES and term.scale.name in SCALES:
            scaled = SCALES[term.scale.name]
            parts.append((f"Advantage: {term.returns.name} as R, {term.scale.name}", rf"A_i{mark}={scaled}"))
            # The formula of a running estimate is an assignment to b itself.
            form = BASELINES[term.baseline.name]
            parts.append((f"Baseline {term.baseline.name}", form if r"\leftarrow" in form else rf"b_i{mark}={form}"))
    named = [part for part in recipe.regularisers if part.name in REGULARISERS]
    for part in named:
        parts.append((f"Regulariser {part.name}", rf"\Omega_t={REGULARISERS[part.name]}"))
    if recipe.reduction.name in REDUCTIONS:
        parts.append((f"Weight of a token, {recipe.reduction.name}", rf"w_{{i,t}}={REDUCTIONS[recipe.reduction.name]}"))
    return parts
