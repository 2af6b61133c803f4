// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs the steps of docs/tutorial-browser.md in a real browser and checks what each "You see" claims.
//   node tutorial_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY SOURCE_DIRECTORY MODULE    all steps
//   node tutorial_test.mjs --step N SITE INSPECTOR ARTIFACTS_DIRECTORY                   one step, on running servers
// The second form prints the players of the inspector's explanation as JSON, and keeps the browser open until its
// input ends (examples/tutorial/browser/follow.py).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { newPage, openBrowser, sleep, stopServer, until } from "./browser.mjs";

const METER = 12;
const [TREES, CATS] = [20, 16];
const NAMES = ["", "Ada", "Ben", "Cleo", "Dan", "Edith", "Finn", "Grace", "Hugo",
               "Ida", "Jon", "Kate", "Leo", "Mona", "Nils", "Olga", "Paul"];

/**
 * Runs in a page before its own script. Limits drawing to ten frames per second, because the test renders in software.
 */
function drawSlowly() {
  globalThis.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 100);
}

/** Runs in a page before its own script. Collects the texts that the page draws in globalThis.texts. */
function keepTexts() {
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (type) { return getContext.call(this, type, { willReadFrequently: true }); };
  const { fillText } = CanvasRenderingContext2D.prototype;
  globalThis.texts = new Set();
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    globalThis.texts.add(text);
    fillText.call(this, text, ...rest);
  };
}

/** Runs in the page. Returns what the page shows and which ghosts its client has. */
function pageState() {
  const { client } = globalThis;
  if (client === undefined) return {};
  const { count, floats, words } = client.collect(client.newestTick);
  const all = Array.from({ length: count }, (_, i) => ({
    x: floats[8 * i], y: floats[8 * i + 1], ghost: words[8 * i + 3], kind: client.schema.kinds[words[8 * i + 4]], isOwned: words[8 * i + 6] === 1 }));
  for (const one of all) {
    one.team = client.get(one.ghost, "body", "team");
    one.isHidden = client.get(one.ghost, "body", "cloaked") === 1;
  }
  return {
    state: client.state, all, count, own: all.find(({ isOwned }) => isOwned), others: all.filter(({ kind, isOwned }) => kind === "player" && !isOwned),
    status: document.querySelector("#status").textContent, texts: [...globalThis.texts],
    log: [...document.querySelectorAll("#log li")].map((line) => line.textContent),
  };
}

/** Runs in the page. Returns the color of its canvas at a position in pixels. */
const colorAt = ([x, y]) => [...document.querySelector("#canvas").getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3)];

const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
const readState = (page) => page.evaluate(pageState);
const wait = (what, page, isReached) => until(what, async () => {
  const seen = await readState(page);
  return seen.own !== undefined && isReached(seen) ? seen : null;
});
const nameOf = async (page) => NAMES[(await readState(page)).own.team];

/** Clicks on the garden at a position in meters. */
async function click(page, place) {
  const { left, top } = await page.evaluate(() => {
    const bounds = document.querySelector("#canvas").getBoundingClientRect();
    return { left: bounds.left, top: bounds.top };
  });
  await page.mouse.click(left + place.x * METER, top + place.y * METER);
}

async function walkTo(page, place) {
  await click(page, place);
  await wait("the player walks to the click", page, ({ own }) => distance(own, place) < 0.5);
}

/** Makes the two players walk next to each other and waits until each has a ghost of the other. */
async function meet({ ada, ben }) {
  await Promise.all([walkTo(ada, { x: 24, y: 34 }), walkTo(ben, { x: 29, y: 34 })]);
  for (const page of [ada, ben]) await wait("the players meet", page, ({ others }) => others.length > 0);
}

/** Opens the inspector and waits until its client has joined. */
async function inspect({ inspector, address }) {
  await inspector.goto(address);
  await until("the inspector joins", () => inspector.evaluate(() => {
    const { client, why } = globalThis.purview ?? {};
    return client?.state === "joined" && why?.first?.observer >= 0;
  }));
}

async function clickInspector(page, { x, y }) {
  const point = await page.evaluate(([x, y]) => {
    const { view } = globalThis.purview;
    const { left, top } = view.canvas.getBoundingClientRect();
    const at = view.pointOf({ x, y });
    return { x: left + at.x, y: top + at.y };
  }, [x, y]);
  await page.mouse.click(point.x, point.y);
}

const allGhosts = (players) => TREES + CATS + players;

const steps = {
  async 1({ ada }) {
    const { status, all } = await wait("the page joins", ada, ({ status }) => /ghosts$/.test(status));
    assert.equal(status, `garden: ${allGhosts(1)} ghosts`);
    for (const [kind, count] of [["tree", TREES], ["cat", CATS], ["player", 1]]) assert.equal(all.filter((one) => one.kind === kind).length, count, kind);
  },

  async 2({ ada, ben }) {
    for (const page of [ada, ben]) await wait("both pages have the whole garden", page, ({ count }) => count === allGhosts(2));
    const names = [await nameOf(ada), await nameOf(ben)];
    assert.notEqual(names[0], names[1]);
    const before = await wait("the names are drawn", ada, ({ texts }) => names.every((name) => texts.includes(name)));
    const pixels = ({ x, y }) => [x * METER, y * METER].map(Math.round);
    const hasColor = async (place, [r, g, b]) => {
      const color = await ada.evaluate(colorAt, pixels(place));
      assert.ok(Math.hypot(color[0] - r, color[1] - g, color[2] - b) < 30, `${color} at ${JSON.stringify(place)}`);
    };
    await hasColor({ x: 30, y: 18 }, [0x83, 0xbd, 0xe6]);
    await hasColor({ x: before.own.x + 10.5 / METER, y: before.own.y }, [255, 255, 255]);
    await until("cats walk", async () => {
      const { all } = await readState(ada);
      return before.all.some((old) => old.kind === "cat" && all.some((now) => now.ghost === old.ghost && distance(now, old) > 0.3));
    });
  },

  async 3({ ada, ben }) {
    for (const page of [ada, ben]) await wait("both join", page, ({ others }) => others.length > 0);
    const { own } = await readState(ada);
    const to = { x: own.x - 5, y: own.y };
    await walkTo(ada, to);
    await wait("the other page shows it", ben, ({ others }) => others.some((one) => distance(one, to) < 0.5));
    await sleep(300);
    const from = (await readState(ada)).own;
    assert.ok(distance(from, to) < 0.5, "the player stays there");
    await ada.keyboard.down("ArrowRight");
    await wait("an arrow key moves the player", ada, ({ own }) => own.x > from.x + 2);
    await ada.keyboard.up("ArrowRight");
    const stopped = await until("the player stops", async () => {
      const before = (await readState(ada)).own;
      await sleep(200);
      return distance((await readState(ada)).own, before) < 0.01 && before;
    });
    assert.ok(Math.abs(stopped.y - from.y) < 0.1, "it walked to the right");
    await click(ada, { x: 30, y: 18 });
    await sleep(1500);
    await wait("the water stops the player", ada, ({ own }) => own.y > 28 - 4.1 - 0.5);
  },

  async 4({ ada, ben }) {
    await meet({ ada, ben });
    const [first, second] = [await nameOf(ada), await nameOf(ben)];
    const { count, own, all } = await wait("distant ghosts have left", ada, (seen) => seen.count < allGhosts(2));
    assert.ok(all.every((one) => distance(one, own) < 17), JSON.stringify(all));
    await click(ada, { x: 6, y: 34 });
    await wait("the list shows the leave", ada, ({ log }) => log.includes(`− ${second} left`));
    await wait("the list of the other page shows it, too", ben, ({ log, others }) => log.includes(`− ${first} left`) && others.length === 0);
    await click(ada, { x: 24, y: 34 });
    await wait("the list shows the enter", ben, ({ log }) => log.find((line) => line.includes(first)) === `+ ${first} entered`);
    return `${count} ghosts`;
  },

  async 5({ ada, ben, inspector, address }) {
    await meet({ ada, ben });
    const first = await nameOf(ada);
    const others = ({ all, own }) => all.filter((one) => one.kind === "player" && one !== own && NAMES[one.team] === first);
    await ada.click("#hide");
    const { x, y } = others(await wait("the other page still has the hidden player", ben, (seen) => others(seen)[0]?.isHidden))[0];
    await until("it is drawn as a ring", async () => (await ben.evaluate(colorAt, [x * METER, y * METER].map(Math.round))).every((part) => part === 255));
    await ben.shot("ring");

    await inspect({ inspector, address });
    await inspector.click("#tab-rules");
    const rules = inspector.locator(".card .step .text");
    await until("the rules are shown", async () => await rules.count() === 1);
    await inspector.click(".card > button.quiet");
    await rules.nth(1).fill("subtract flag cloaked");
    await rules.nth(1).press("Enter");
    await wait("the hidden player leaves", ben, (seen) => seen.log.includes(`− ${first} hidden`) && others(seen).length === 0);
    await ben.shot("hidden");
    assert.ok((await readState(ada)).own !== undefined, "its owner still has it");
    await inspector.shot("rules");
    await ada.click("#hide");
    await wait("the shown player enters", ben, (seen) => seen.log.find((line) => line.includes(first)) === `+ ${first} entered` && others(seen).length === 1);

    const before = (await readState(ben)).count;
    await inspector.getByLabel("radius in meters").first().fill("40");
    await wait("a larger radius adds ghosts", ben, ({ count }) => count > before + 3);
    await inspector.click("#rules-revert");
    await until("revert removes the step", async () => await rules.count() === 1);
  },

  async 6({ ada, ben, inspector, address }) {
    await meet({ ada, ben });
    const first = await nameOf(ada);
    await ada.click("#hide");
    await wait("the hidden player leaves", ben, ({ all, log }) => log.includes(`− ${first} hidden`) && all.every((one) => one.kind !== "player" || NAMES[one.team] !== first));
    await inspect({ inspector, address });
    await inspector.check("#truth");
    await inspector.click("#tab-why");
    await inspector.click("#why-first");
    await until("the observer is chosen", async () => {
      await clickInspector(inspector, (await readState(ben)).own);
      await sleep(300);
      return /^player \d+/.test(await inspector.textContent("#why-first-name"));
    });
    await until("the server explains", async () => {
      await clickInspector(inspector, (await readState(ada)).own);
      await sleep(300);
      return /is not relevant to player \d+/.test(await inspector.textContent("#why-verdict"));
    });
    assert.match(await inspector.textContent(".explained .decides"), /subtractcloaked is set/);
    assert.ok((await inspector.locator("#why-changes li").allInnerTexts()).includes("clear cloaked"));
    return { observer: Number(/observer (\d+)/.exec(await inspector.textContent("#why-first-note"))[1]),
             entity: Number(/^player (\d+)/.exec(await inspector.textContent("#why-second-name"))[1]) };
  },
};

/** Opens the pages of a step and runs its checks. `pages`: open pages by name; later steps use them again. */
async function runStep(number, browser, pages, site, address, artifacts) {
  const names = number === 1 ? ["ada"] : number < 5 ? ["ada", "ben"] : ["ada", "ben", "inspector"];
  for (const name of names) {
    if (pages[name] !== undefined) continue;
    const { page, pageErrors } = await newPage(browser);
    await page.addInitScript(drawSlowly);
    if (name !== "inspector") await page.addInitScript(keepTexts);
    pages[name] = Object.assign(page, { pageErrors });
  }
  for (const name of names) {
    pages[name].pageErrors.length = 0;
    pages[name].shot = (what) => pages[name].screenshot({ path: join(artifacts, `tutorial-${number}-${what}.png`) });
  }
  try {
    for (const page of names.filter((name) => name !== "inspector").map((name) => pages[name])) {
      await page.goto(site);
      await wait("the page joins", page, () => true);
    }
    const result = await steps[number]({ ...pages, address });
    await sleep(200);
    for (const name of names) await pages[name].shot(name);
    for (const name of names) assert.deepEqual(pages[name].pageErrors, [], `step ${number}: ${name} reported errors`);
    return result;
  } catch (problem) {
    for (const name of names) {
      await pages[name].shot(`failed-${name}`).catch(() => {});
      console.log(`step ${number}, ${name}: ${pages[name].pageErrors.join("; ") || "no console errors"}`);
    }
    throw problem;
  }
}

/** Starts `purview serve` with a world file, for at most three minutes. */
async function serve(binary, world, origin) {
  const child = spawn(binary, ["serve", "--world", world, "--port", "0", "--origin", origin, "--seconds", "180"], { stdio: ["ignore", "pipe", "pipe"] });
  process.once("exit", () => child.kill());
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { output += data; });
  const address = await until("the server prints its address", () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
    return /http:\/\/127\.0\.0\.1:\d+\/\?operator=[0-9a-f]+/.exec(output)?.[0];
  });
  return { child, address };
}

async function runAll(binary, artifacts, source, modulePath) {
  let [step, port] = [1, 0];
  const types = { html: "text/html", json: "application/json", mjs: "text/javascript", wasm: "application/wasm" };
  const site = createServer(async ({ url }, answer) => {
    const name = url === "/" ? "index.html" : url.slice(1);
    const path = { "client.mjs": join(source, "web/client.mjs"), "purview_client.wasm": modulePath }[name] ?? join(source, `examples/tutorial/browser/step${step}`, name);
    try {
      const bytes = await readFile(path);
      const body = name === "index.html" ? bytes.toString().replace("ws://127.0.0.1:7780/", `ws://127.0.0.1:${port}/`) : bytes;
      answer.writeHead(200, { "content-type": types[name.split(".").at(-1)], "cache-control": "no-store" }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${site.address().port}`;
  const browser = await openBrowser({ width: 1280, height: 720 });
  const pages = {};
  try {
    for (; step <= 6; ++step) {
      const begin = Date.now();
      const server = await serve(binary, join(source, `examples/tutorial/browser/step${step}/room.toml`), origin);
      port = Number(new URL(server.address).port);
      try {
        await runStep(step, browser, pages, `${origin}/`, server.address, artifacts);
      } finally {
        for (const page of Object.values(pages)) await page.goto("about:blank");
        await stopServer(server);
      }
      console.log(`tutorial: step ${step} passed in ${((Date.now() - begin) / 1000).toFixed(1)} s`);
    }
  } finally {
    await browser.close();
    site.close();
  }
}

async function runOne(number, site, address, artifacts) {
  const browser = await openBrowser({ width: 1280, height: 720 });
  try {
    const result = await runStep(number, browser, {}, site, address, artifacts);
    console.log(JSON.stringify(typeof result === "object" ? result : {}));
    for await (const _ of process.stdin);
  } finally {
    await browser.close();
  }
}

if (process.argv[2] === "--step") {
  const [, , , number, site, address, artifacts] = process.argv;
  mkdirSync(artifacts, { recursive: true });
  await runOne(Number(number), site, address, artifacts);
} else {
  const [binary, artifacts, source, modulePath] = process.argv.slice(2);
  mkdirSync(artifacts, { recursive: true });
  await runAll(binary, artifacts, source, modulePath);
}
