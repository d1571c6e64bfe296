"use strict";
// What is pointed at is told below. Everything is set as text: nothing of a target becomes markup.
const calls = JSON.parse(document.getElementById("calls").textContent);
const told = document.getElementById("told");
let current = null;

function time(us) {
  if (us < 1000) return us + " µs";
  if (us < 1e6) return (us / 1000).toFixed(us < 1e4 ? 2 : 1) + " ms";
  return (us / 1e6).toFixed(2) + " s";
}

function settings(fault) {
  const rest = Object.entries(fault).filter(([name, value]) => name !== "kind" && value);
  const shown = rest.map(([name, value]) => {
    if (name.endsWith("_us")) return name.slice(0, -3).replace("_", " ") + " " + time(value);
    if (name === "ms") return "for " + time(value * 1000);
    if (name.endsWith("_ms")) return name.slice(0, -3) + " " + time(value * 1000);
    return name + " " + value;
  });
  return [fault.kind, ...shown].join(", ");
}

function tell(call) {
  const facts = [
    [call.is_afterwards ? "afterwards" : "call", call.n + " · " + call.title + " on instance " + call.instance],
    ["time", time(call.started_us) + " to " + time(call.ended_us) + " (" + time(call.ended_us - call.started_us) + ")"],
    ["end", call.end + (call.fate ? ", " + call.fate : "") + (call.nothing_ran ? ", nothing ran" : "")],
    ["fault", call.fault && settings(call.fault)],
    ["why", call.why],
    ["answer", call.answer],
    ["id", call.id],
  ];
  told.replaceChildren();
  for (const [name, value] of facts) {
    if (!value) continue;
    const line = document.createElement("p");
    line.appendChild(document.createElement("b")).textContent = name;
    line.append(" " + value);
    told.append(line);
  }
  told.className = call.fate === "lost" || call.fate === "there twice" || call.fate === "in conflict" ? "bad" : "";
  told.hidden = false;
}

function point(lane) {
  if (current) current.classList.remove("current");
  current = lane;
  if (!lane) {
    told.hidden = true;
    return;
  }
  lane.classList.add("current");
  tell(calls[lane.dataset.i]);
}

document.addEventListener("pointerover", (event) => {
  const lane = event.target.closest(".lane");
  if (lane) point(lane);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return point(null);
  const plot = event.target.closest(".scroll");
  const lanes = plot ? [...plot.querySelectorAll(".lane:not([hidden])")] : [];
  const at = lanes.indexOf(current);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: lanes.length - 1 }[event.key];
  if (to === undefined || !lanes[to]) return;
  event.preventDefault();
  point(lanes[to]);
  lanes[to].scrollIntoView({ block: "nearest" });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy button");
  if (!button) return;
  const code = button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
  } catch {
    // Not allowed here: it is selected, and the person copies it.
    getSelection().selectAllChildren(code);
    button.textContent = "selected";
  }
});

// The legend: signs that the page does not show need no words, and a sign that is pressed shows only its calls.
function lanes(sign) {
  const parts = "." + sign.split(" ").join(".") + (sign === "ack" ? ":not(.kept, .lost, .twice, .wrong)" : "");
  return new Set(document.querySelectorAll(".lane" + parts + ", .lane:has(.track " + parts + ")"));
}

for (const button of document.querySelectorAll(".legend button")) {
  const sign = button.dataset.shows;
  const shown = lanes(sign);
  button.disabled = shown.size === 0;
  button.parentElement.hidden = shown.size === 0 && !document.querySelector(".bands ." + sign.split(" ")[0]);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of document.querySelectorAll(".legend button")) other.setAttribute("aria-pressed", String(other === button && on));
    for (const lane of document.querySelectorAll(".lane")) lane.hidden = on && !shown.has(lane);
  });
}
