// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The page of the demo: joins as a player, draws what this client holds and nothing else, and, on
// request, the server's truth underneath.
import { INSTANCE, INSTANCE_WORDS, NO_GHOST, PurviewClient, loadPurview } from "./client.mjs";
import { OperatorChannel } from "./operator.mjs";
import { SHAPE, View } from "./view.mjs";

const RENDER_DELAY_TICKS = 2;   // draws between two snapshots that have both arrived, as a rule
const RECONNECT_MS = 1000;
const LOG_LINES = 40;

const TEAM_COLORS = ["#b8c4ca", "#ff6b6b", "#4dabf7", "#ffd43b", "#69db7c", "#da77f2", "#ffa94d", "#38d9a9", "#f783ac"];
const KIND_STYLES = {
  player: { size: 1.6, shape: SHAPE.disc, team: true },
  patrol: { size: 1.3, shape: SHAPE.square, team: true },
  person: { size: 0.28, shape: SHAPE.disc, color: "#9fd0e6" },
  tree: { size: 1.9, shape: SHAPE.triangle, color: "#3f8f5a" },
  item: { size: 0.8, shape: SHAPE.diamond, color: "#f2c14e" },
  sheep: { size: 0.9, shape: SHAPE.disc, color: "#e9ecef" },
  deer: { size: 1.1, shape: SHAPE.disc, color: "#b98557" },
  wagon: { size: 2.2, shape: SHAPE.square, color: "#a9764a" },
  crate: { size: 0.9, shape: SHAPE.square, color: "#dbb47c" },
  chest: { size: 0.9, shape: SHAPE.diamond, color: "#f2c14e" },
  thing: { size: 0.8, shape: SHAPE.diamond, color: "#7f8f99" },
};
const OTHER_STYLE = { size: 1.2, shape: SHAPE.disc, color: "#ff8787" };

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
const byId = (id) => document.getElementById(id);

const view = new View(byId("view"));
const address = new URL(location.href);
const socketBase = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
const world = await (await fetch("world.json")).json();
const client = new PurviewClient(await loadPurview("purview_client.wasm"), { url: `${socketBase}/play` });

if (world.ground) view.setGround([...world.min, ...world.max], world.ground.width, world.ground.height, world.ground.blocked);
byId("world").textContent = `${world.name} · ${Math.round(world.max[0] - world.min[0])} × ${Math.round(world.max[1] - world.min[1])} m · ${world.tick_hz} ticks a second`;
view.centre = { x: (world.min[0] + world.max[0]) / 2, y: (world.min[1] + world.max[1]) / 2 };
const reach = world.radii[0]?.leave ?? 60;
view.halfHeight = reach * 1.35;

// -- time ---------------------------------------------------------------------------------------------

/** The server's tick now, as far as the arrival of snapshots tells. */
const clock = {
  tick: 0, at: 0,
  hear(tick, now) {
    const estimate = this.now(now);
    // Follows slowly, so that jitter does not show; jumps when it is far off.
    this.tick = Math.abs(tick - estimate) > 8 ? tick : estimate + (tick - estimate) * 0.1;
    this.at = now;
  },
  now(now) { return this.tick + (now - this.at) / 1000 * (client.tickHz || world.tick_hz); },
};

// -- connection ---------------------------------------------------------------------------------------

function banner(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = text === "";
}

client.on("state", (state) => {
  if (state === "joined") {
    banner("");
    byId("log").replaceChildren();
    operatorFollow();
  } else if (state === "refused") {
    banner(`The server refused: ${client.refuseReason}`);
  } else if (state === "closed") {
    banner(`Connection lost (${client.closeReason}); trying again …`);
    setTimeout(() => client.connect(), RECONNECT_MS);
  }
});

let kindStyles = [];
function styleOf(kind) {
  if (kindStyles.length === 0) {
    kindStyles = client.schema.kinds.map((name) => {
      const style = KIND_STYLES[name] ?? OTHER_STYLE;
      return { ...style, rgb: rgb(style.color ?? "#ffffff"), name };
    });
  }
  return kindStyles[kind] ?? { ...OTHER_STYLE, rgb: [1, 1, 1], name: "?" };
}
const TEAM_RGB = TEAM_COLORS.map(rgb);

// -- log ----------------------------------------------------------------------------------------------

let pendingLog = [];
for (const name of ["enter", "leave"]) {
  client.on(name, (event) => pendingLog.push({ name, ...event, tick: client.newestTick }));
}

function flushLog() {
  const list = byId("log");
  for (const event of pendingLog.slice(-LOG_LINES)) {
    const line = document.createElement("li");
    line.className = event.name;
    const text = document.createElement("span");
    text.textContent = `${styleOf(event.kind).name} ${event.ghost}`;
    line.append(text);
    if (event.name === "leave") {
      const why = document.createElement("em");
      why.textContent = event.reason;
      line.append(why);
    }
    const when = document.createElement("time");
    when.textContent = event.tick;
    line.append(when);
    list.prepend(line);
  }
  pendingLog = [];
  while (list.children.length > LOG_LINES) list.lastChild.remove();
}

// -- the operator's truth -----------------------------------------------------------------------------

const token = address.searchParams.get("operator");
const operator = token ? new OperatorChannel(`${socketBase}/operator?token=${encodeURIComponent(token)}`) : null;
let truth = null;

async function operatorFollow() {
  if (operator === null) return;
  try {
    if (!operator.isOpen) await operator.open();
    byId("entities").textContent = (await operator.ask({ op: "stats" })).entities;
  } catch (error) {
    byId("truth-note").textContent = String(error.message);
  }
}
if (operator === null) {
  byId("truth").disabled = true;
  byId("truth-row").classList.add("off");
  byId("truth-note").textContent = "The server's truth needs the operator's address, which the server printed when it started.";
} else {
  operator.onTruth = (frame) => { truth = frame; };
}
function askTruth() {
  if (operator === null) return;
  const on = byId("truth").checked;
  if (!on) truth = null;
  const [w, h] = [view.halfWidth * 1.2, view.halfHeight * 1.2];
  operator.tell({ op: "truth", on, rect: [view.centre.x - w, view.centre.y - h, view.centre.x + w, view.centre.y + h] });
}
byId("truth").addEventListener("change", askTruth);
setInterval(() => { if (byId("truth").checked) askTruth(); }, 500);

// -- input --------------------------------------------------------------------------------------------

const keys = new Set();
const DIRECTIONS = { KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] };
let cloaked = false;

function sendWalk() {
  let [x, y] = [0, 0];
  for (const key of keys) {
    x += DIRECTIONS[key][0];
    y += DIRECTIONS[key][1];
  }
  const length = Math.hypot(x, y) || 1;
  client.sendCommand(Uint8Array.of(1, x / length * 127, y / length * 127));
}
addEventListener("keydown", (event) => {
  if (event.code === "KeyC" && !event.repeat) {
    cloaked = !cloaked;
    client.sendCommand(Uint8Array.of(3, cloaked ? 1 : 0));
  }
  if (!(event.code in DIRECTIONS) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (!keys.has(event.code)) {
    keys.add(event.code);
    sendWalk();
  }
});
addEventListener("keyup", (event) => { if (keys.delete(event.code)) sendWalk(); });
addEventListener("blur", () => { if (keys.size > 0) { keys.clear(); sendWalk(); } });
view.canvas.addEventListener("pointerdown", (event) => {
  const bounds = view.canvas.getBoundingClientRect();
  const place = view.placeAt(event.clientX - bounds.left, event.clientY - bounds.top);
  const command = new DataView(new ArrayBuffer(9));
  command.setUint8(0, 2);
  command.setFloat32(1, place.x, true);
  command.setFloat32(5, place.y, true);
  client.sendCommand(new Uint8Array(command.buffer));
});
view.canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  view.halfHeight = Math.min(2000, Math.max(2, view.halfHeight * Math.exp(event.deltaY * 0.001)));
}, { passive: false });

// -- drawing ------------------------------------------------------------------------------------------

/** What was drawn last, for whoever looks over the page's shoulder. */
const drawn = { instances: 0, packet: 0, tick: 0, frames: 0, own: null };
globalThis.purview = { client, view, drawn, operator };

const fieldIndex = { component: -1, team: -1, cloaked: -1 };
function findFields() {
  const component = client.schema.components.findIndex((c) => c.name === "body");
  if (component < 0) return;
  const fields = client.schema.components[component].fields;
  Object.assign(fieldIndex, { component, team: fields.indexOf("team"), cloaked: fields.indexOf("cloaked") });
}

function drawTruth(frame) {
  view.drawInstances("truth", frame.count, (write) => {
    for (let i = 0; i < frame.count; ++i) {
      const hidden = (frame.words[i * 6 + 5] & 1) !== 0;
      const [r, g, b] = hidden ? [1, 0.3, 0.38] : [0.72, 0.82, 0.9];
      write(frame.floats[i * 3], frame.floats[i * 3 + 1], Math.max(1.2, view.halfHeight / 130), SHAPE.ring, r, g, b, hidden ? 0.75 : 0.4);
    }
  });
}

function draw(now) {
  requestAnimationFrame(draw);
  if (client.newestTick !== drawn.heard) {
    clock.hear(client.newestTick, now);
    drawn.heard = client.newestTick;
  }
  if (fieldIndex.component < 0) findFields();
  const { count, floats, words } = client.collect(clock.now(now) - RENDER_DELAY_TICKS);
  const packet = client.newestPacket;
  const list = new Array(count);
  let own = null;
  for (let i = 0; i < count; ++i) {
    const at = i * INSTANCE_WORDS;
    const ghost = { x: floats[at + INSTANCE.x], y: floats[at + INSTANCE.y], id: words[at + INSTANCE.ghost],
                    kind: words[at + INSTANCE.kind], child: words[at + INSTANCE.parent] !== NO_GHOST };
    if (words[at + INSTANCE.owned] === 1) own = ghost;
    list[i] = ghost;
  }
  if (own !== null) {
    view.centre = { x: own.x, y: own.y };
  } else if (count > 0 && client.state === "joined") {
    // A spectator or a rider: look at the middle of what is known.
    const mean = list.reduce((sum, g) => ({ x: sum.x + g.x / count, y: sum.y + g.y / count }), { x: 0, y: 0 });
    view.centre.x += (mean.x - view.centre.x) * 0.05;
    view.centre.y += (mean.y - view.centre.y) * 0.05;
  }
  view.begin();
  if (truth !== null && byId("truth").checked) drawTruth(truth);
  drawn.instances = view.drawInstances("ghosts", count, (write) => {
    list.forEach((ghost, i) => {
      const style = styleOf(ghost.kind);
      const team = style.team ? client.value(ghost.id, fieldIndex.component, fieldIndex.team) : 0;
      const hidden = style.team && client.value(ghost.id, fieldIndex.component, fieldIndex.cloaked) !== 0;
      const [r, g, b] = style.team ? TEAM_RGB[team % TEAM_RGB.length] : style.rgb;
      const offset = ghost.child ? 0.9 : 0;
      write(ghost.x + offset * Math.cos(i), ghost.y + offset * Math.sin(i), style.size, style.shape, r, g, b, hidden ? 0.45 : 1);
    });
  });
  drawn.packet = packet;
  drawn.own = own && { x: own.x, y: own.y };
  drawn.tick = client.newestTick;
  ++drawn.frames;
  if (own !== null) {
    for (const radius of world.radii) {
      view.drawCircle(own.x, own.y, radius.enter, [0.37, 0.78, 0.9, 0.8]);
      view.drawCircle(own.x, own.y, radius.leave, [0.37, 0.78, 0.9, 0.25]);
    }
    view.drawInstances("marker", 1, (write) => write(own.x, own.y, Math.max(2.6, view.halfHeight / 45), SHAPE.ring, 1, 1, 1, 0.9));
  }
}

// -- numbers ------------------------------------------------------------------------------------------

const history = [];
const chart = new Dygraph(byId("chart"), [[new Date(), 0, 0]], {
  labels: ["time", "in", "out"], colors: ["#5ec8e5", "#f0987a"], fillGraph: true, strokeWidth: 1.5, height: 110,
  legend: "always", axisLineColor: "#26343c", gridLineColor: "#1d2930", includeZero: true, axisLabelWidth: 38,
  axes: { y: { axisLabelFormatter: (v) => `${Math.round(v / 100) / 10}k` }, x: { drawGrid: false } },
});
let last = { at: performance.now(), bytesReceived: 0, bytesSent: 0 };
setInterval(() => {
  const stats = client.stats;
  const now = performance.now();
  const seconds = (now - last.at) / 1000;
  const rate = (name) => Math.max(0, (stats[name] - last[name]) / seconds);
  const [input, output] = [rate("bytesReceived"), rate("bytesSent")];
  last = { at: now, bytesReceived: stats.bytesReceived, bytesSent: stats.bytesSent };
  byId("rate-in").textContent = (input / 1000).toFixed(1);
  byId("rate-out").textContent = (output / 1000).toFixed(1);
  byId("rtt").textContent = stats.rttMs > 0 ? stats.rttMs.toFixed(0) : "–";
  history.push([new Date(), input, output]);
  if (history.length > 90) history.shift();
  chart.updateOptions({ file: history });
}, 1000);

let legendDone = false;
setInterval(() => {
  byId("relevant").textContent = client.ghostCount;
  byId("tick").textContent = client.newestTick;
  flushLog();
  if (!legendDone && client.schema.kinds.length > 0) {
    legendDone = true;
    client.schema.kinds.forEach((name, kind) => {
      const entry = document.createElement("span");
      const dot = document.createElement("i");
      const style = styleOf(kind);
      dot.style.background = style.team ? "conic-gradient(#ff6b6b, #ffd43b, #69db7c, #4dabf7, #da77f2, #ff6b6b)" : style.color ?? "#fff";
      entry.append(dot, name);
      byId("legend").append(entry);
    });
  }
}, 200);

await client.connect();
requestAnimationFrame(draw);
