"use strict";
// Without this script the page shows all steps below one another; with it, one at a time.
const steps = [...document.querySelectorAll("section.step")];
const marks = [...document.querySelectorAll("nav.marks a")];
const button = (id) => document.getElementById(id);
const slider = button("place");
let now = 0;
let timer = null;

function show(number, push) {
  now = Math.min(Math.max(number, 0), steps.length - 1);
  steps.forEach((step, at) => (step.hidden = at !== now));
  marks.forEach((mark, at) => (at === now ? mark.setAttribute("aria-current", "step") : mark.removeAttribute("aria-current")));
  slider.value = now;
  button("count").textContent = now < steps.length - 1 ? `step ${now + 1} of ${steps.length - 1}` : "the end";
  button("first").disabled = button("back").disabled = now === 0;
  button("last").disabled = button("next").disabled = now === steps.length - 1;
  const frame = steps[now].querySelector("iframe.page");
  if (frame) fit(frame);
  if (push) history.replaceState(null, "", `#step-${now + 1}`);
}

// Show the whole page of a site, and bring the control of the action into view.
function fit(frame) {
  const page = frame.contentDocument;
  if (!page || !page.body || page.readyState !== "complete") {
    frame.onload = () => fit(frame);
    return;
  }
  frame.style.height = "0";
  frame.style.height = `${page.documentElement.scrollHeight + 2}px`;
  const mark = page.getElementById("acted-on");
  if (mark) scrollTo({ top: frame.getBoundingClientRect().top + scrollY + mark.getBoundingClientRect().top - innerHeight / 3 });
}

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (now < steps.length - 1 ? show(now + 1, true) : play(false)), 1200) : null;
  button("play").textContent = timer ? "Pause" : "Play";
}

function go(number) {
  play(false);
  show(number, true);
}

document.body.classList.add("one");
// A browser would scroll to the step that the address names, sometimes after the control was brought into view.
for (const step of steps) step.removeAttribute("id");
slider.max = steps.length - 1;
button("first").onclick = () => go(0);
button("back").onclick = () => go(now - 1);
button("next").onclick = () => go(now + 1);
button("last").onclick = () => go(steps.length - 1);
button("play").onclick = () => {
  if (!timer && now === steps.length - 1) show(0, true);
  play(!timer);
};
slider.oninput = () => go(Number(slider.value));
marks.forEach((mark, at) => mark.addEventListener("click", (event) => { event.preventDefault(); go(at); }));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target === slider) return;
  const keys = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: steps.length - 1 };
  if (event.key in keys) {
    event.preventDefault();
    go(keys[event.key]);
  } else if (event.key === " " && event.target.tagName !== "BUTTON") {
    event.preventDefault();
    button("play").click();
  }
});
window.addEventListener("resize", () => show(now, false));
window.addEventListener("hashchange", () => show(place(), false));
function place() {
  return (Number((location.hash.match(/^#step-(\d+)$/) || [])[1]) || 1) - 1;
}
show(place(), false);
