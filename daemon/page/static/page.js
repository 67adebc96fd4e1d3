// The status page. Everything that it shows comes from the service as data and is put on the page as text, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);

// make returns an element with text or other elements in it.
function make(tag, className, ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const part of content) {
    if (part !== null && part !== undefined && part !== "") element.append(part);
  }
  return element;
}

// visible makes control and direction characters visible, so that a name cannot dress up as another.
function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// quoted makes a word of a shell's command line of any text; null if that would need characters one cannot see.
function quoted(text) {
  if (visible(text) !== text || text === "" || text.startsWith("-")) return null;
  if (/^[A-Za-z0-9._@:\/=+-]+$/.test(text)) return text;
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

// command is what one could do, to be copied into a terminal.
function command(words, what) {
  const parts = words.map(quoted);
  if (parts.includes(null)) return null;
  const line = parts.join(" ");
  const button = make("button", "", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy the command: " + what);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line);
      byId("copied").textContent = "Copied: " + line;
    } catch {
      byId("copied").textContent = "The browser does not let the page copy; select the command.";
    }
  });
  return make("div", "command", make("code", "", line), button);
}

const clock = (time) => {
  const at = new Date(time);
  const sameDay = at.toDateString() === new Date().toDateString();
  return sameDay ? at.toLocaleTimeString() : at.toLocaleString();
};

const mood = { ready: "good", starting: "busy", pending: "busy", off: "soft", stopping: "soft", unresponsive: "bad" };
const state = (name) => make("span", "state " + (mood[name] || "bad"), name);

// fill replaces what is in an element, unless nothing has changed: so the focus and a selection stay.
const shown = new Map();
function fill(id, data, build) {
  const key = JSON.stringify(data);
  if (shown.get(id) === key) return;
  shown.set(id, key);
  const focused = document.activeElement?.getAttribute("aria-label");
  byId(id).replaceChildren(...build(data));
  if (focused && !document.activeElement?.getAttribute("aria-label")) {
    for (const button of byId(id).querySelectorAll("button")) {
      if (button.getAttribute("aria-label") === focused) button.focus();
    }
  }
}

const place = (source) => visible(source.path) + (source.line ? ":" + source.line : "");

function pairs(list) {
  return list.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]);
}

// spark draws the latest calls' times as a line; its words are for who cannot see it.
function spark(times) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const most = Math.max(...times), width = 200, height = 32;
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `the last ${times.length} calls took up to ${most.toFixed(1)} milliseconds`);
  const line = document.createElementNS(space, "polyline");
  const step = times.length > 1 ? width / (times.length - 1) : 0;
  line.setAttribute("points", times.map((t, i) => `${(i * step).toFixed(1)},${(height - 2 - (t / (most || 1)) * (height - 4)).toFixed(1)}`).join(" "));
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  line.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(line);
  return svg;
}

function serverCard(s) {
  const card = make("article", "card",
    make("div", "head", make("h3", "", visible(s.name)), state(s.state)),
    make("p", "soft mono", place(s.source)),
    make("p", "soft", [s.scope, s.transport, s.pid ? "process " + s.pid : "", plural(s.tools, "tool"),
      s.restarts ? plural(s.restarts, "restart") : "", s.since ? "since " + clock(s.since) : ""].filter(Boolean).join(" · ")));
  if (s.note) card.append(make("p", "", visible(s.note)));
  if (s.error) card.append(make("p", "bad mono", visible(s.error)));
  if (s.latenciesMs?.length) card.append(spark(s.latenciesMs));
  if (s.state !== "off" && s.state !== "pending" && s.state !== "invalid") {
    card.append(command(["traposd", "restart", s.name], "restart " + visible(s.name)) ?? "");
  }
  return card;
}

// A screen is asked for again every few seconds, and only while it can be seen.
const screenDelay = 3000;
function screen(c) {
  const picture = make("img", "screen");
  picture.alt = "screen of " + visible(c.traposId);
  picture.hidden = true;
  let address = "";
  const load = async () => {
    if (!picture.isConnected) {
      if (address) URL.revokeObjectURL(address);
      return clearInterval(timer);
    }
    const box = (picture.hidden ? picture.parentElement : picture).getBoundingClientRect();
    if (document.hidden || box.bottom < 0 || box.top > innerHeight) return;
    try {
      const response = await fetch("/ui/screen?" + new URLSearchParams({ network: c.network, computer: c.traposId }), { headers: authorization() });
      if (!response.ok) return;
      const next = URL.createObjectURL(await response.blob());
      picture.src = next;
      if (address) URL.revokeObjectURL(address);
      address = next;
      picture.hidden = false;
    } catch { /* the service is away; the stream says so */ }
  };
  const timer = setInterval(load, screenDelay);
  setTimeout(load, 0);
  return picture;
}

function computerCard(c) {
  const card = make("article", "card",
    make("div", "head", make("h3", "", visible(c.traposId)), state(c.state)),
    make("p", "soft", `network ${visible(c.network)} · computer ${c.computerId}` + (c.label ? ` · ${visible(c.label)}` : "")),
    make("p", "soft", "connected " + clock(c.connectedAt) +
      (c.lastExecAt ? " · ran Lua " + clock(c.lastExecAt) : "")));
  if (c.serves.includes("read-screen")) card.append(screen(c));
  if (c.serves.includes("reboot-computer")) {
    card.append(command(["traposd", "call", "reboot-computer", "computer=" + c.traposId, "network=" + c.network], "reboot " + visible(c.traposId)) ?? "");
  }
  return card;
}

function problem(p) {
  const about = [p.server ? `server "${p.server}"` : "", p.field].filter(Boolean).join(", ");
  return make("li", "", make("p", "", make("span", "state " + (p.severity === "error" ? "bad" : "busy"), p.severity), " ",
    make("span", "mono", `${visible(p.path)}:${p.line}:${p.column}`)),
  make("p", "", visible((about ? about + ": " : "") + p.message)),
  p.keptLastGood ? make("p", "soft", "the last good version is kept" + (p.since ? " since " + clock(p.since) : "")) : null);
}

function pending(p) {
  return make("li", "", make("div", "head", make("h3", "", visible(p.name)), make("span", "soft mono", place(p.source))),
    make("p", "soft", p.changed ? "an edit; the version from before keeps running" : "new"),
    command(["traposd", "approve", p.name + "@" + p.hash.slice(0, 12)], "approve " + visible(p.name)));
}

function file(f) {
  const what = !f.exists ? "not there" : f.lastGood ? "broken, the last good version is kept" : f.ok ? "read" : "broken";
  return make("li", "", make("span", "mono", visible(f.path)), " ",
    make("span", f.exists && !f.ok ? "bad" : "soft", `(${f.scope}, ${what}${f.modTime ? ", of " + clock(f.modTime) : ""})`));
}

const plural = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;

function showStatus(r) {
  const failing = r.servers.filter((s) => ["degraded", "backing-off", "needs-login", "invalid"].includes(s.state)).length;
  const errors = r.problems.filter((p) => p.severity === "error").length;
  const ready = r.servers.filter((s) => s.state === "ready").length;
  const words = [`${ready} of ${plural(r.servers.length, "server")} ready`, failing ? `${failing} failing` : "", errors ? plural(errors, "configuration error") : "",
    plural(r.computers.length, "computer"), plural(r.sessions.length, "client")].filter(Boolean).join(", ");
  if (byId("health").textContent !== words) byId("health").textContent = words;
  byId("health").className = failing || errors ? "bad" : "good";
  fill("service", r.service, (s) => pairs([
    ["version", visible(s.program)], ["process", String(s.pid)], ["up since", clock(s.since)],
    ["MCP endpoint", make("code", "", visible(s.mcp))], ["gateway", s.gateway ? make("code", "", visible(s.gateway)) : "off"],
  ]));
  byId("problems-section").hidden = r.problems.length === 0;
  byId("pending-section").hidden = r.pending.length === 0;
  fill("problems", r.problems, (list) => list.map(problem));
  fill("pending", r.pending, (list) => list.map(pending));
  const none = (text) => [make("p", "soft", text)];
  fill("servers", r.servers, (list) => list.length ? list.map(serverCard) : none("No server is configured."));
  fill("computers", r.computers, (list) => list.length ? list.map(computerCard) : none("No computer is connected."));
  fill("sessions", r.sessions, (list) => list.length ? list.map((s) => make("article", "card", make("h3", "", visible(s.client || "unnamed")),
    make("p", "soft", `revision ${visible(s.revision)} · ${plural(s.streams, "stream")} · since ${clock(s.since)}`))) : none("No client has a session."));
  fill("files", r.files.filter((f) => f.exists || f.scope === "workspace"), (list) => list.map(file));
}

const maxEvents = 200;
let events = [];
function showEvents(news) {
  events = events.concat(news).slice(-maxEvents);
  const wanted = byId("filter").value.trim().toLowerCase();
  const rows = [];
  for (const e of events.toReversed()) {
    const fields = Object.entries(e.fields ?? {}).map(([k, v]) => `${k}=${typeof v === "string" ? v : JSON.stringify(v)}`).join(" ");
    const text = visible(`${e.message} ${fields}`);
    if (wanted && !`${e.level} ${e.logger ?? ""} ${text}`.toLowerCase().includes(wanted)) continue;
    rows.push(make("li", "", make("time", "soft mono", clock(e.time)),
      make("span", "mono " + (e.level === "info" ? "soft" : "bad"), e.level), make("span", "what", text)));
  }
  byId("events").replaceChildren(...rows);
}

let token = sessionStorage.getItem("token") ?? "";
const authorization = () => token ? { Authorization: "Bearer " + token } : {};

// follow reads one stream to its end. EventSource cannot send a token, so the stream is read by hand.
async function follow() {
  const response = await fetch("/ui/live", { headers: authorization(), cache: "no-store" });
  byId("login").hidden = response.status !== 401;
  if (response.status === 401) {
    byId("health").textContent = token ? "the token is wrong" : "a token is needed";
    byId("health").className = "bad";
    await new Promise((resolve) => byId("login").addEventListener("submit", resolve, { once: true }));
    return;
  }
  if (!response.ok) throw new Error(await response.text());
  events = [];
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, name, data] = part.match(/^event: (\w+)\ndata: (.*)$/s) ?? [];
      if (name === "status") showStatus(JSON.parse(data));
      if (name === "events") showEvents(JSON.parse(data));
    }
  }
}

const retryDelay = 1000;
async function run() {
  for (;;) {
    try {
      await follow();
    } catch { /* told below */ }
    if (byId("login").hidden) {
      byId("health").textContent = "the service does not answer; trying again";
      byId("health").className = "bad";
      await new Promise((resolve) => setTimeout(resolve, retryDelay));
    }
  }
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value;
  sessionStorage.setItem("token", token);
  byId("token").value = "";
});
byId("filter").addEventListener("input", () => showEvents([]));
run();
