// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The "why?" query in a real browser, on a real server with 150 bots:
//   node why_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// Clicks on the map select a relevant entity, a distant one and a cloaked one. Reported numbers are compared with
// positions that the test reads elsewhere.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`why test: ${text}`);
const RADIUS = 150;  // large enough that some entity is always within it
const LAG_M = 6;     // maximum movement between a click and its reply

/** Runs in the page before its own scripts. Counts draw calls without instances, by layer. */
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
  const { page, pageErrors } = await newPage(browser);
  await page.addInitScript(spyOnLayers);
  await enterWorld(page, server.address);
  const setRadius = async (radius) => {
    const set = await page.evaluate((meters) => globalThis.purview.operator.ask({ op: "set_rules", nodes: [
      { name: "near or same team, not cloaked", steps: [`add within ${meters} leave ${meters * 1.1}`, "add same team", "subtract flag cloaked"] }] }), radius);
    assert.equal(set.op, "rules", JSON.stringify(set));
  };
  await setRadius(RADIUS);
  await page.uncheck("#truth");
  await page.evaluate(() => {
    globalThis.purview.view.halfHeight = 240;
    globalThis.purview.operator.on("truth", (frame) => { globalThis.truth = frame; });
  });
  await page.click("#tab-why");
  await until("the client has ghosts", () => page.evaluate(() => globalThis.purview.drawn.ghosts.length > 40));

  /** Returns the lines and circles of a frame. */
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
   * Finds an entity with free space around it, `from` to `to` meters from the own player: {x, y, meters}. `what`:
   * "known" to this client and without a team, "unknown" to it, "cloaked", "player", or "beast" for a non-player.
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
      const meters = away(thing, drawn.own);
      const at = view.pointOf(thing);
      return meters > from && meters < to && isMeant(thing) &&
        at.x > 40 && at.x < view.canvas.clientWidth - 40 && at.y > 60 && at.y < view.canvas.clientHeight - 60 &&
        document.elementFromPoint(at.x, at.y) === view.canvas &&
        [...known, ...there].every((other) => away(other, thing) < 1.5 || away(other, thing) > 8) &&
        things.filter((other) => away(other, thing) < 1.5).length === 1;
    });
    return found && { x: found.x, y: found.y, meters: away(found, drawn.own) };
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
  /** Clicks an entity from `find`. Retries with another one if it moved away before the click. */
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
  /** Returns the distance in the first step. */
  const shown = async () => Number(/distance ([\d.]+) of/.exec(await page.locator(".explained li").first().innerText())[1]);

  // Before any click, the subject is "me" and only its own circles are drawn.
  assert.equal(await page.textContent("#why-first-name"), "me");
  assert.deepEqual(await draws(), { lines: 0, circles: 2 });

  // A relevant entity.
  const seen = await clickOne("known", 80, RADIUS - 10, "the relevant entity is explained", isAnswered(/is relevant to me/));
  assert.match(await verdict(), /step 1 decides: add distance [\d.]+ of 150/);
  assert.ok(Math.abs(await shown() - seen.meters) < LAG_M, `${await shown()} m reported, ${seen.meters} m away`);
  await until("the map shows the distance", async () => Math.abs(parseFloat(await page.textContent(".map-label.between")) - seen.meters) < LAG_M);
  assert.match(await page.textContent(".explained .decides"), /adddistance.*applies · so far yes · decides/);
  assert.equal(await page.textContent(".stages [aria-current]"), "a node matches");
  assert.ok((await changes()).includes("set cloaked") && (await changes()).some((text) => /^move it to/.test(text)), String(await changes()));
  assert.equal(await page.textContent("#why-changes-title"), "What would hide it");
  const drawn = await draws();
  assert.ok(drawn.lines === 2 && drawn.circles === 4, JSON.stringify(drawn));
  await page.screenshot({ path: join(artifacts, "why-seen.png") });
  log(`seen: ${await verdict()}`);

  // While an entity moves, its numbers change in place. Screen readers do not repeat the verdict.
  await page.evaluate(() => {
    const card = document.querySelector("#why-nodes .card");
    const isQuiet = ({ target }) => target.parentElement.closest("[aria-live=off]") !== null;
    globalThis.still = { card, words: card.innerText, line: card.querySelector(".line"), announced: 0 };
    new MutationObserver((all) => { globalThis.still.announced += all.filter((one) => !isQuiet(one)).length; })
      .observe(document.getElementById("why-verdict"), { childList: true, characterData: true, subtree: true });
  });
  await page.mouse.move(10, 400);
  await page.keyboard.down("d");
  await until("the distance changes", () => page.evaluate(() => globalThis.still.card.innerText !== globalThis.still.words));
  await page.keyboard.up("d");
  const still = await page.evaluate(() => ({ announced: globalThis.still.announced, isSameElement: globalThis.still.card.isConnected && globalThis.still.line.isConnected }));
  assert.deepEqual(still, { announced: 0, isSameElement: true });

  // An entity that this client does not have can be clicked only while the truth layer is shown.
  await page.evaluate(() => globalThis.purview.operator.tell({ op: "truth", on: true, rect: [-1e4, -1e4, 1e4, 1e4] }));
  const far = await find("unknown", RADIUS * 1.1 + 10, 235);
  await clickAt(far);
  await until("the client has no entity there", async () => /This client has no entity here/.test(await page.textContent("#why-problem")));
  await page.check("#truth");
  const unseen = await clickOne("unknown", RADIUS * 1.1 + 10, 235, "the distant entity is explained", isAnswered(/is not relevant to me/));
  assert.match(await verdict(), /no step adds it/);
  assert.ok(Math.abs(await shown() - unseen.meters) < LAG_M, `${await shown()} m reported, ${unseen.meters} m away`);
  assert.equal(await page.textContent(".stages [aria-current]"), "no node matches");
  assert.equal(await page.locator(".explained .decides").count(), 0);
  assert.ok((await changes()).some((text) => /^move it to/.test(text)), String(await changes()));
  await until("the map shows the position", async () => await page.textContent(".map-label.moved") === "would be shown here");
  await page.screenshot({ path: join(artifacts, "why-far.png") });
  log(`far: ${await verdict()}`);

  // An entity within the radius but cloaked. Within twice the radius there is always one.
  await setRadius(2 * RADIUS);
  await page.evaluate(() => { globalThis.purview.view.halfHeight = 400; });
  await clickOne("cloaked", 10, 2 * RADIUS - 20, "the cloaked entity is explained", isAnswered(/is not relevant to me.*decides: subtract cloaked is set/));
  assert.match(await page.textContent(".explained .decides"), /subtractcloaked is set.*so far no · decides/);
  assert.ok((await changes()).includes("clear cloaked"), String(await changes()));
  await page.screenshot({ path: join(artifacts, "why-cloaked.png") });
  log(`cloaked: ${await verdict()}`);

  // No observer views from a beast. A player has an observer.
  await page.click("#why-first");
  await clickOne("beast", 10, 2 * RADIUS, "no observer has this viewpoint", async () => /^No observer views from /.test(await page.textContent("#why-problem")));
  assert.equal(await page.getAttribute("#why-first", "aria-pressed"), "true");
  await clickOne("player", 10, 1000, "a player is the observer", isAnswered(/relevant to player \d+/));
  assert.match(await page.textContent("#why-first-note"), /observer \d+/);
  assert.ok((await draws()).circles >= 4);
  log(`another observer: ${await verdict()}`);
  await page.click("#why-again");
  await page.click("#why-me");
  assert.equal(await page.textContent("#why-first-name"), "me");
  await page.click("#why-me");
  await answered("me is both ends of the query", /me is relevant to me.*decided before the rules: owned/);

  // With the keyboard: selects a player, then an entity from the list.
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

  // On another tab the overlay is gone, and a click moves the player again.
  await page.click("#tab-world");
  assert.deepEqual(await draws(), { lines: 0, circles: 2 });
  assert.equal(await page.locator(".map-label:visible").count(), 0);
  const place = await page.evaluate(() => globalThis.purview.drawn.own);
  await page.mouse.click(300, 300);
  await until("the player walks", async () => {
    const now = await page.evaluate(() => globalThis.purview.drawn.own);
    return Math.hypot(now.x - place.x, now.y - place.y) > 1;
  });
  assert.deepEqual(pageErrors, [], "the page reported errors");
} catch (problem) {
  await browser.context.pages().at(-1)?.screenshot({ path: join(artifacts, "why-failed.png") }).catch(() => {});
  throw problem;
} finally {
  await browser.close();
  await stopServer(server);
}
log("passed");
