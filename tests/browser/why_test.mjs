// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The question "why?" in a real browser, on a real server with 150 bots:
//   node why_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// One entity that this client sees, one that is too far away, one that is cloaked, by clicks on the
// map; the numbers are held against places that the test knows from elsewhere.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`why test: ${text}`);
const RADIUS = 150;  // as far that there is always something within it
const LAG_M = 6;     // between a place that was read and the answer about it

/** In the page, before any script of it: counts what is drawn without instances, by layer. */
function spyOnLayers() {
  const draw = WebGL2RenderingContext.prototype.drawArrays;
  globalThis.spy = { lines: 0, circles: 0 };
  WebGL2RenderingContext.prototype.drawArrays = function (...rest) {
    const pass = globalThis.purview?.view.pass;
    if (pass in globalThis.spy) ++globalThis.spy[pass];
    return draw.apply(this, rest);
  };
}

const server = await startServer(binary);
const browser = await openBrowser({ width: 1280, height: 800 });

try {
  const { page, complaints } = await newPage(browser);
  await page.addInitScript(spyOnLayers);
  await enterWorld(page, server.address);
  const setRadius = async (radius) => {
    const set = await page.evaluate((metres) => globalThis.purview.operator.ask({ op: "set_rules", nodes: [
      { name: "near or same team, not cloaked", steps: [`add within ${metres} leave ${metres * 1.1}`, "add same team", "subtract flag cloaked"] }] }), radius);
    assert.equal(set.op, "rules", JSON.stringify(set));
  };
  await setRadius(RADIUS);
  await page.evaluate(() => {
    globalThis.purview.view.halfHeight = 240;
    globalThis.purview.operator.on("truth", (frame) => { globalThis.truth = frame; });
  });
  await page.click("#tab-why");
  await until("there is something to see", () => page.evaluate(() => globalThis.purview.drawn.ghosts.length > 40));

  /** Lines and circles of a frame. */
  const draws = async () => {
    const count = () => page.evaluate(() => ({ ...globalThis.spy, frames: globalThis.purview.drawn.frames }));
    await sleep(200);
    const before = await count();
    const after = await until("some frames", async () => {
      const now = await count();
      return now.frames >= before.frames + 3 && now;
    });
    const each = (name) => (after[name] - before[name]) / (after.frames - before.frames);
    return { lines: each("lines"), circles: each("circles") };
  };
  /**
   * Something with room around it, `from` to `to` metres from the own player: {x, y, metres}. `what`:
   * "known" to this client, without a team, or "unknown" to it; "cloaked", "player", or "beast" for no player.
   */
  const find = (what, from, to) => until(what, () => page.evaluate(([kind, from, to]) => {
    const { client, drawn, view } = globalThis.purview;
    const frame = globalThis.truth;
    const away = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
    const known = drawn.ghosts.map(({ x, y, kind }) => ({ x, y, teamed: kind === "player" || kind === "patrol" }));
    const player = client.schema.kinds.indexOf("player");
    const there = Array.from({ length: frame?.count ?? 0 }, (_, i) => ({
      x: frame.floats[i * 3], y: frame.floats[i * 3 + 1], player: frame.words[i * 6 + 4] === player, cloaked: (frame.words[i * 6 + 5] & 1) !== 0 }));
    const things = kind === "known" ? known : there;
    const isMeant = { known: (t) => !t.teamed, unknown: (t) => !t.cloaked && known.every((other) => away(other, t) > 12), cloaked: (t) => t.cloaked, player: (t) => t.player, beast: (t) => !t.player }[kind];
    const found = things.find((thing) => {
      const metres = away(thing, drawn.own);
      const at = view.pointOf(thing);
      return metres > from && metres < to && isMeant(thing) &&
        at.x > 40 && at.x < view.canvas.clientWidth - 40 && at.y > 60 && at.y < view.canvas.clientHeight - 60 &&
        [...known, ...there].every((other) => away(other, thing) < 1.5 || away(other, thing) > 8) &&
        things.filter((other) => away(other, thing) < 1.5).length === 1;
    });
    return found && { x: found.x, y: found.y, metres: away(found, drawn.own) };
  }, [what, from, to]));
  const clickAt = async ({ x, y }) => {
    const at = await page.evaluate((place) => {
      const bounds = globalThis.purview.view.canvas.getBoundingClientRect();
      const point = globalThis.purview.view.pointOf(place);
      return { x: bounds.left + point.x, y: bounds.top + point.y };
    }, { x, y });
    await page.mouse.click(at.x, at.y);
  };
  const verdict = () => page.locator("#why-verdict").innerText().then((text) => text.replace(/\s+/g, " "));
  const answered = (what, words) => until(what, async () => await page.isVisible("#why-answer") && words.test(await verdict()));
  /** Clicks one that `find` finds, and another one where it walked away under the click. */
  const clickOne = async (kind, from, to, what, isDone) => {
    for (let attempt = 0; ; ++attempt) {
      const thing = await find(kind, from, to);
      await clickAt(thing);
      try {
        await until(what, isDone, 10000);
        return thing;
      } catch (problem) {
        if (attempt === 9) throw problem;
      }
    }
  };
  const isAnswered = (words) => async () => await page.isVisible("#why-answer") && words.test(await verdict());
  const changes = () => page.locator("#why-changes li").allInnerTexts();
  /** The distance that the first step tells. */
  const told = async () => Number(/distance ([\d.]+) of/.exec(await page.locator(".explained li").first().innerText())[1]);

  // Before anything is clicked: me, and nothing drawn but the own circles.
  assert.equal(await page.textContent("#why-first-name"), "me");
  assert.deepEqual(await draws(), { lines: 0, circles: 2 });

  // One that is seen.
  const seen = await clickOne("known", 80, RADIUS - 10, "the seen one is explained", isAnswered(/is relevant to me/));
  assert.match(await verdict(), /step 1 decides: add distance [\d.]+ of 150/);
  assert.ok(Math.abs(await told() - seen.metres) < LAG_M, `${await told()} m told, ${seen.metres} m away`);
  await until("the map says how far", async () => Math.abs(parseFloat(await page.textContent(".map-label.between")) - seen.metres) < LAG_M);
  assert.match(await page.textContent(".explained .decides"), /adddistance.*applies · so far yes · decides/);
  assert.equal(await page.textContent(".stages [aria-current]"), "a node says yes");
  assert.ok((await changes()).includes("set cloaked") && (await changes()).some((text) => /^move it to/.test(text)), String(await changes()));
  assert.equal(await page.textContent("#why-changes-title"), "What would hide it");
  const drawn = await draws();
  assert.ok(drawn.lines === 2 && drawn.circles === 4, JSON.stringify(drawn));
  await page.screenshot({ path: join(artifacts, "why-seen.png") });
  log(`seen: ${await verdict()}`);

  // While one of them moves its numbers change, where they stand, and nobody is told the same verdict again.
  await page.evaluate(() => {
    const card = document.querySelector("#why-nodes .card");
    const isQuiet = ({ target }) => target.parentElement.closest("[aria-live=off]") !== null;
    globalThis.still = { card, words: card.innerText, line: card.querySelector(".line"), said: 0 };
    new MutationObserver((all) => { globalThis.still.said += all.filter((one) => !isQuiet(one)).length; })
      .observe(document.getElementById("why-verdict"), { childList: true, characterData: true, subtree: true });
  });
  await page.mouse.move(10, 400);
  await page.keyboard.down("d");
  await until("the distance changes", () => page.evaluate(() => globalThis.still.card.innerText !== globalThis.still.words));
  await page.keyboard.up("d");
  const still = await page.evaluate(() => ({ said: globalThis.still.said, isThere: globalThis.still.card.isConnected && globalThis.still.line.isConnected }));
  assert.deepEqual(still, { said: 0, isThere: true });

  // What this client does not know cannot be clicked, unless the truth is shown.
  await page.evaluate(() => globalThis.purview.operator.tell({ op: "truth", on: true, rect: [-1e4, -1e4, 1e4, 1e4] }));
  const far = await find("unknown", RADIUS * 1.1 + 10, 235);
  await clickAt(far);
  await until("nothing is known there", async () => /nothing that this client knows of/.test(await page.textContent("#why-problem")));
  await page.check("#truth");
  const unseen = await clickOne("unknown", RADIUS * 1.1 + 10, 235, "the far one is explained", isAnswered(/is not relevant to me/));
  assert.match(await verdict(), /no step adds it/);
  assert.ok(Math.abs(await told() - unseen.metres) < LAG_M, `${await told()} m told, ${unseen.metres} m away`);
  assert.equal(await page.textContent(".stages [aria-current]"), "no node says yes");
  assert.equal(await page.locator(".explained .decides").count(), 0);
  assert.ok((await changes()).some((text) => /^move it to/.test(text)), String(await changes()));
  await until("the map says where", async () => await page.textContent(".map-label.moved") === "here it would be seen");
  await page.screenshot({ path: join(artifacts, "why-far.png") });
  log(`far: ${await verdict()}`);

  // One that is near enough, and cloaked: within twice as far there are some wherever one stands.
  await setRadius(2 * RADIUS);
  await page.evaluate(() => { globalThis.purview.view.halfHeight = 400; });
  await clickOne("cloaked", 10, 2 * RADIUS - 20, "the cloaked one is explained", isAnswered(/is not relevant to me.*decides: subtract cloaked is set/));
  assert.match(await page.textContent(".explained .decides"), /subtractcloaked is set.*so far no · decides/);
  assert.ok((await changes()).includes("clear cloaked"), String(await changes()));
  await page.screenshot({ path: join(artifacts, "why-cloaked.png") });
  log(`cloaked: ${await verdict()}`);

  // Nobody looks from a beast; somebody does from a player.
  await page.click("#why-first");
  await clickOne("beast", 10, 2 * RADIUS, "nobody looks from there", async () => /is no observer's main entity/.test(await page.textContent("#why-problem")));
  assert.equal(await page.getAttribute("#why-first", "aria-pressed"), "true");
  await clickOne("player", 10, 1000, "a player's view", isAnswered(/relevant to player \d+/));
  assert.match(await page.textContent("#why-first-note"), /observer \d+/);
  assert.ok((await draws()).circles >= 4);
  log(`another's view: ${await verdict()}`);
  await page.click("#why-again");
  await page.click("#why-me");
  assert.equal(await page.textContent("#why-first-name"), "me");
  await page.click("#why-me");
  await answered("me about me", /me is relevant to me.*before any rule: owned/);

  // The same with the keyboard: a player from the list, about the first thing of the list.
  await page.evaluate(() => { globalThis.purview.view.halfHeight = 900; });
  await page.focus("#why-first");
  await page.keyboard.press("Enter");
  await page.focus("#why-near");
  await page.keyboard.press("Enter");
  await until("the list", async () => await page.locator("#why-list button").count() > 3);
  await page.locator("#why-list button").first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.getAttribute("#why-second", "aria-pressed"), "true");
  await page.locator("#why-list button").nth(2).focus();
  await page.keyboard.press("Enter");
  await answered("from the list", /relevant to me/);

  // Elsewhere nothing of it is left, and a click walks again.
  await page.click("#tab-world");
  assert.deepEqual(await draws(), { lines: 0, circles: 2 });
  assert.equal(await page.locator(".map-label:visible").count(), 0);
  const place = await page.evaluate(() => globalThis.purview.drawn.own);
  await page.mouse.click(300, 300);
  await until("the player walks", async () => {
    const now = await page.evaluate(() => globalThis.purview.drawn.own);
    return Math.hypot(now.x - place.x, now.y - place.y) > 1;
  });
  assert.deepEqual(complaints, [], "the page complained");
} catch (problem) {
  await browser.context.pages().at(-1)?.screenshot({ path: join(artifacts, "why-failed.png") }).catch(() => {});
  throw problem;
} finally {
  await browser.close();
  await stopServer(server);
}
log("passed");
