// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The page of the demo: joins as a player, draws what this client holds and nothing else, and, for an
// operator, the server's truth underneath, the rules that run, and why anybody knows of anything.
import { BadNetwork } from "./bad_network.mjs";
import { PurviewClient, loadPurview } from "./client.mjs";
import { byId } from "./dom.mjs";
import { DrivePanel } from "./drive_panel.mjs";
import { Figures, showFigures } from "./figures.mjs";
import { KindStyles } from "./kinds.mjs";
import { OperatorPage } from "./operator_page.mjs";
import { Pilot } from "./pilot.mjs";
import { Reconnect } from "./reconnect.mjs";
import { Scene } from "./scene.mjs";
import { Tabs } from "./tabs.mjs";
import { View } from "./view.mjs";
import { Walk } from "./walk.mjs";
import { WorldPanel } from "./world_panel.mjs";

async function readWorld() {
  const response = await fetch("world.json", { cache: "no-store" });
  if (!response.ok) throw new Error(`world.json: ${response.status}`);
  return response.text();
}

const view = new View(byId("view"));
const socketBase = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
const worldText = await readWorld();
const world = JSON.parse(worldText);
const network = new BadNetwork();
const client = new PurviewClient(await loadPurview("vale_client.wasm"), { url: `${socketBase}/play`, turnMs: 20, WebSocket: network.WebSocket });
const pilot = new Pilot(client, world.ground);
const styles = new KindStyles(client);
const scene = new Scene(client, view, styles, pilot);
const tabs = new Tabs(document.querySelector(".tabs"));
const walk = new Walk(client, pilot, scene.drawn);
const drivePanel = new DrivePanel(client, pilot, network);
const worldPanel = new WorldPanel(client, styles);
const figures = new Figures(client);
const drawFigures = showFigures(byId("figures"), figures, () => tabs.current === "rules");
const token = new URL(location.href).searchParams.get("operator");
const operator = token ? new OperatorPage(`${socketBase}/operator?token=${encodeURIComponent(token)}`, client, scene, view, tabs, figures) : null;

if (world.ground) view.setGround([...world.min, ...world.max], world.ground.width, world.ground.height, world.ground.blocked);
byId("world").textContent = `${world.name} · ${Math.round(world.max[0] - world.min[0])} × ${Math.round(world.max[1] - world.min[1])} m · ${world.tick_hz} ticks a second`;
view.centre = { x: (world.min[0] + world.max[0]) / 2, y: (world.min[1] + world.max[1]) / 2 };
view.halfHeight = (world.radii[0]?.leave ?? 60) * 1.35;
if (operator === null) {
  byId("truth").disabled = true;
  byId("truth-row").classList.add("off");
  byId("truth-note").textContent = "The server's truth needs the operator's address, which the server printed when it started.";
}

// -- connection ---------------------------------------------------------------------------------------

function banner(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = text === "";
}

/** What is on the page was made for the world of `worldText`; a server that has started again may have another. */
async function followWorld() {
  const text = await readWorld().catch(() => worldText);  // the server has gone again: the next join asks again
  if (text !== worldText) location.reload();
}

new Reconnect(client, banner);
client.on("state", (state) => {
  if (state !== "joined") return;
  void followWorld();
  void operator?.joined();
});

// -- panels and pointer -------------------------------------------------------------------------------

const isPicking = () => operator !== null && tabs.current === "why";
function followTab(name) {
  byId("hint-walk").hidden = isPicking();
  byId("hint-pick").hidden = !isPicking();
  view.canvas.classList.toggle("picking", isPicking());
  if (name === "world") worldPanel.shown();
  if (name === "rules") drawFigures();
}
tabs.onChange(followTab);
followTab(tabs.current);

view.canvas.addEventListener("pointerdown", (event) => {
  const bounds = view.canvas.getBoundingClientRect();
  const place = view.placeAt(event.clientX - bounds.left, event.clientY - bounds.top);
  if (isPicking()) void operator.pick(place);
  else if (pilot.isDriving) walk.fires = true;
  else walk.to(place);
});
addEventListener("pointerup", () => { walk.fires = false; });
view.canvas.addEventListener("pointermove", (event) => {
  const bounds = view.canvas.getBoundingClientRect();
  walk.aimAt(view.placeAt(event.clientX - bounds.left, event.clientY - bounds.top));
});
view.canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  view.halfHeight = Math.min(2000, Math.max(2, view.halfHeight * Math.exp(event.deltaY * 0.001)));
}, { passive: false });

// -- frames -------------------------------------------------------------------------------------------

/** Those of world.json are of the rules that the server started with: no more than how much one wants to see. */
const radii = () => operator?.radii() ?? [];

function draw(now) {
  requestAnimationFrame(draw);
  walk.follow();
  scene.draw(now, radii());
  drivePanel.draw(view, scene.drawn, now);
  operator?.draw(now);
}

/** For whoever looks over the page's shoulder. */
globalThis.purview = { client, pilot, network, walk, shots: drivePanel, view, drawn: scene.drawn, radii, figures, operator: operator?.channel ?? null, rules: operator?.rules ?? null, why: operator?.why ?? null };

await client.connect();
requestAnimationFrame(draw);
