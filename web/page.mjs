// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The demo page. Joins as a player and draws only what this client received. For an operator, also shows the server's
// complete world, the current rules, and explanations of relevance. A tour introduces the page to a first visitor.
import { BadNetwork } from "./bad_network.mjs";
import { PurviewClient, loadPurview } from "./client.mjs";
import { Daylight } from "./daylight.mjs";
import { byId } from "./dom.mjs";
import { DrivePanel } from "./drive_panel.mjs";
import { Figures, showFigures } from "./figures.mjs";
import { KindStyles } from "./kinds.mjs";
import { MapKey } from "./map_key.mjs";
import { MapLabels } from "./map_labels.mjs";
import { MapPointer } from "./map_pointer.mjs";
import { OperatorPage } from "./operator_page.mjs";
import { Pilot } from "./pilot.mjs";
import { Reconnect } from "./reconnect.mjs";
import { Scene } from "./scene.mjs";
import { Tabs } from "./tabs.mjs";
import { TouchButtons } from "./touch_buttons.mjs";
import { Tour } from "./tour.mjs";
import { tourSteps } from "./tour_steps.mjs";
import { TourStrip } from "./tour_strip.mjs";
import { View } from "./view.mjs";
import { Walk } from "./walk.mjs";
import { WorldPanel } from "./world_panel.mjs";

/** Half height of the first view / largest radius. */
const FIRST_REACH = 2.4;
/** Meters after which the ground pattern repeats / largest radius. */
const GRAIN = 0.5;
const OFFER_AGAIN_MS = 200;
const OFFER_WITHIN_MS = 4000;
const NEEDS_OPERATOR = "Needs operator access: the server printed the address.";

function banner(text) {
  byId("banner").textContent = text;
  byId("banner").hidden = text === "";
}

async function readWorld() {
  const response = await fetch("world.json", { cache: "no-store" });
  if (!response.ok) throw new Error(`world.json: ${response.status}`);
  return response.text();
}

/** Loads world.json and the client. The page cannot work without them. */
async function load() {
  try {
    return await Promise.all([readWorld(), loadPurview("vale_client.wasm")]);
  } catch (problem) {
    banner(`The page cannot be started: ${problem.message}. Please reload it.`);
    throw problem;
  }
}

const view = new View(byId("view"));
const daylight = new Daylight(byId("light"), byId("night"), (palette) => { view.palette = palette; });
const socketBase = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
const [worldText, module] = await load();
const world = JSON.parse(worldText);
const network = new BadNetwork();
const client = new PurviewClient(module, { url: `${socketBase}/play`, turnMs: 20, WebSocket: network.WebSocket });
const pilot = new Pilot(client, world.ground);
const styles = new KindStyles(client);
const scene = new Scene(client, view, styles, pilot);
const tabs = new Tabs(document.querySelector(".tabs"));
const walk = new Walk(client, pilot, scene.drawn);
const drivePanel = new DrivePanel(client, pilot, network);
const worldPanel = new WorldPanel(client, styles);
const figures = new Figures(client);
const drawFigures = showFigures(byId("figures"), figures, () => tabs.current === "rules");
const labels = new MapLabels(view, byId("names"));
const key = new MapKey(scene, view, () => operator?.rules.running?.names.flags[0] ?? "");
const token = new URL(location.href).searchParams.get("operator");
const operator = token ? new OperatorPage(`${socketBase}/operator?token=${encodeURIComponent(token)}`,
                                          { client, scene, view, tabs, figures, showMissing: (why) => key.showMissing(why) }) : null;
if (operator === null) key.showMissing(NEEDS_OPERATOR);

/** Radii of the current rules. world.json has only those of the rules at the server's start. */
const radii = () => operator?.radii() ?? [];

const reach = Math.max(...world.radii.map(({ leave }) => leave), 0) || 60;
view.setWorld([...world.min, ...world.max], reach * GRAIN);
if (world.ground) view.setBlocked(world.ground.width, world.ground.height, world.ground.blocked);
byId("world").textContent = `${world.name} · ${Math.round(world.max[0] - world.min[0])} × ${Math.round(world.max[1] - world.min[1])} m · ${world.tick_hz} ticks per second`;
view.center = { x: (world.min[0] + world.max[0]) / 2, y: (world.min[1] + world.max[1]) / 2 };
view.halfHeight = reach * FIRST_REACH;

// -- connection ---------------------------------------------------------------------------------------

/** The page was built for the world of `worldText`. Reloads it if a restarted server has another world. */
async function followWorld() {
  const text = await readWorld().catch(() => worldText);  // the server is down again; checked at the next join
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

new MapPointer(view, {
  press(place) {
    if (isPicking()) void operator.pick(place);
    else if (pilot.isDriving) walk.fires = true;
    else walk.to(place);
  },
  release() { walk.fires = false; },
  aim(place) { walk.aimAt(place); },
  actsAtOnce: () => pilot.isDriving && !isPicking(),
}, byId("zoom-in"), byId("zoom-out"));
new TouchButtons(walk, pilot);

// -- tour ---------------------------------------------------------------------------------------------

const tour = new Tour(tourSteps({ client, scene, view, pilot, tabs, radii, operator }), () => client.state === "joined", () => strip.show());
const strip = new TourStrip(tour, view);
const offerUntil = Date.now() + OFFER_WITHIN_MS;

/** Offers the tour once there is a player and, on an operator's page, the rules have arrived or four seconds have passed. */
function offerTour() {
  const waits = scene.drawn.own === null || (operator !== null && operator.rules.running === null && Date.now() < offerUntil);
  if (waits) setTimeout(offerTour, OFFER_AGAIN_MS);
  else tour.offer();
}

// -- frames -------------------------------------------------------------------------------------------

function draw(now) {
  requestAnimationFrame(draw);
  walk.follow();
  scene.draw(now, radii());
  drivePanel.draw(view, scene.drawn, now);
  labels.draw(scene.drawn, radii(), isPicking());
  operator?.draw(now);
  strip.draw(now);
}

/** For tests and the browser console. */
globalThis.purview = { client, pilot, network, walk, shots: drivePanel, view, drawn: scene.drawn, scene, radii, figures, daylight, tour, operator: operator?.channel ?? null, rules: operator?.rules ?? null, why: operator?.why ?? null };

await client.connect();
requestAnimationFrame(draw);
offerTour();
