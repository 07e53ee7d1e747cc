// The filter of the page of all models. Its state stands in the address, `#q=words&task=name`,
// so that a filtered page can be kept and sent.
"use strict";

const form = document.querySelector("form.filter");
const words = document.getElementById("words");
const task = document.getElementById("task");
const count = document.getElementById("count");
const items = [...document.querySelectorAll(".cards > li")];

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of items) {
    const fits =
      (!task.value || item.dataset.task === task.value) &&
      wanted.every((word) => item.dataset.words.includes(word));
    item.hidden = !fits;
    shown += fits;
  }
  count.textContent = `${shown} ${shown === 1 ? "model" : "models"}`;
}

function keep() {
  const state = new URLSearchParams();
  if (words.value) state.set("q", words.value);
  if (task.value) state.set("task", task.value);
  const text = state.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  words.value = state.get("q") ?? "";
  task.value = state.get("task") ?? "";
  filter();
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
for (const control of [words, task]) {
  control.addEventListener("input", () => {
    filter();
    keep();
  });
}
addEventListener("hashchange", restore);
restore();
