// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rule editor in a real browser, on a real server with 150 bots:
//   node rules_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// Checks the effects of sliders, switches and texts with the counters of the server.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`rules test: ${text}`);
const TICK_MS = 50;
const NAME = "near or same team, not cloaked";
const STEPS = ["add within 60 leave 66", "add same team", "subtract flag cloaked"];

const server = await startServer(binary);
const browser = await openBrowser({ width: 1280, height: 800 });

/**
 * Totals of all clients: {tick, relevant, bytes per second over `ms`, revision}. Times are simulation times, which
 * take longer on a busy machine.
 */
async function measure(page, ms = 1000) {
  const stats = () => page.evaluate(async () => {
    const answer = await globalThis.purview.operator.ask({ op: "stats" });
    return { tick: answer.tick, bytes: answer.bytes_sent, revision: answer.rules_revision,
             relevant: answer.sessions.reduce((sum, session) => sum + session.relevant, 0) };
  });
  const before = await stats();
  const after = await until("ticks advance", async () => {
    const now = await stats();
    return now.tick - before.tick >= ms / TICK_MS && now;
  });
  return { ...after, bytes: (after.bytes - before.bytes) / (after.tick - before.tick) * 1000 / TICK_MS };
}

/** Measures until `isReached(figures)`. Fails after `ms` of simulation time since tick `from`. */
async function measureUntil(what, page, ms, isReached, from = null) {
  for (;;) {
    const figures = await measure(page, 500);
    if (isReached(figures)) return figures;
    from ??= figures.tick;
    assert.ok((figures.tick - from) * TICK_MS < ms, `${what}: ${JSON.stringify(figures)}`);
  }
}

const running = (page) => page.evaluate(async () => {
  const { revision, nodes } = await globalThis.purview.operator.ask({ op: "rules" });
  return { revision, nodes: nodes.map(({ name, enabled, steps }) => ({ name, enabled, steps })) };
});

try {
  const { page, pageErrors } = await newPage(browser);
  await enterWorld(page, server.address);
  await page.click("#tab-rules");
  const steps = page.locator(".card .step");
  const text = (n) => steps.nth(n).locator(".text");
  const radius = page.getByLabel("radius in meters").first();
  const radii = () => page.evaluate(() => globalThis.purview.radii());
  const elsewhere = async () => (await page.isVisible("#rules-elsewhere") ? page.innerText("#rules-elsewhere") : "");
  const state = () => page.textContent("#rules-state");

  // The rules in force are shown and drawn.
  await until("the rules are shown", async () => await steps.count() === 3);
  assert.deepEqual(await Promise.all([0, 1, 2].map((n) => text(n).inputValue())), STEPS);
  assert.equal(await radius.inputValue(), "60");
  assert.deepEqual(await radii(), [{ enter: 60, leave: 66 }]);
  const first = await running(page);
  assert.deepEqual(first.nodes, [{ name: NAME, enabled: true, steps: STEPS }]);

  // A dry run reports its effect and changes nothing.
  await until("the bots have joined", async () => (await measure(page, 300)).relevant > 15000);
  await text(0).fill("add within 20 leave 22");
  const tried = await until("the dry run", async () => /Would gain ([\d,]+) and lose ([\d,]+)/.exec(await state()));
  const [gains, losses] = tried.slice(1).map((number) => Number(number.replaceAll(",", "")));
  assert.ok(gains < losses / 10 && losses > 2000, `gains ${gains}, losses ${losses}`);
  assert.equal((await running(page)).revision, first.revision);
  await text(0).press("Escape");
  assert.equal(await text(0).inputValue(), STEPS[0]);

  // A click disables a step. The entities that it added leave.
  const whole = await measure(page);
  await steps.nth(1).getByLabel("step enabled").uncheck();
  const near = await measureUntil("without the team", page, 5000, (now) => now.relevant < whole.relevant * 0.6);
  assert.deepEqual((await running(page)).nodes[0].steps, [STEPS[0], STEPS[2]]);
  const settled = await measure(page, 1500);
  log(`relevant ${whole.relevant}, without the team ${near.relevant}`);

  // The slider's arrow keys halve the radius step by step. Within 3 s, relevant entities and bytes are at most
  // half. The page sends only a few rule changes per second.
  await radius.focus();
  const slid = Date.now();
  for (let i = 0; i < 30; ++i) {
    await page.keyboard.press("ArrowLeft");
    await sleep(20);
    // Halfway, the server already has intermediate rules, even on a busy machine.
    if (i === 14) await until("the rules follow the slider while it moves", async () => (await running(page)).revision > near.revision);
  }
  const seconds = (Date.now() - slid) / 1000;
  const { tick } = await measure(page, 0);
  const half = await measureUntil("half the radius", page, 3000, (now) => now.relevant * 2 <= settled.relevant && now.bytes * 2 <= settled.bytes, tick);
  const moved = await running(page);
  assert.deepEqual(moved.nodes[0].steps, ["add within 30 leave 36", STEPS[2]]);
  assert.ok(moved.revision - near.revision <= seconds * 4 + 3, `${moved.revision - near.revision} revisions in ${seconds} s`);
  assert.ok(moved.revision - near.revision >= 2, "the rules follow the slider while it moves");
  assert.deepEqual(await radii(), [{ enter: 30, leave: 36 }]);
  assert.equal(await text(0).inputValue(), "add within 30 leave 36");
  log(`half the radius: relevant ${settled.relevant} -> ${half.relevant}, kB/s ${(settled.bytes / 1000).toFixed(0)} -> ${(half.bytes / 1000).toFixed(0)}, ${moved.revision - near.revision} revisions`);
  await sleep(500);
  await page.screenshot({ path: join(artifacts, "rules.png") });

  // Every rule change has a mark. The charts have samples of this client.
  const figures = await page.evaluate(() => ({ marks: globalThis.purview.figures.marks.length, samples: globalThis.purview.figures.samples.length,
                                               charts: document.querySelectorAll("#figures canvas").length }));
  assert.equal(figures.marks, moved.revision - first.revision);
  assert.ok(figures.samples > 10 && figures.charts >= 3, JSON.stringify(figures));

  // An invalid text shows the server's error under the field, at its column. Nothing else changes.
  await text(0).fill("add withn 10");
  await until("the error", async () => await steps.nth(0).locator(".problem").isVisible());
  assert.match(await steps.nth(0).locator(".problem").innerText(), /column 5: 'withn' is not within/);
  assert.equal(await steps.nth(0).locator(".caret").textContent(), "    ▲");
  assert.equal(await text(0).getAttribute("aria-invalid"), "true");
  await page.click("#rules-apply");
  await until("the refusal", async () => /Refused/.test(await state()));
  await page.screenshot({ path: join(artifacts, "rules-refused.png") });
  assert.deepEqual(await running(page), moved);
  assert.ok((await measure(page)).relevant < settled.relevant / 2);
  // Keys typed into a text do not move the player.
  const place = await page.evaluate(() => globalThis.purview.drawn.own);
  await text(0).pressSequentially("wasd wasd", { delay: 60 });
  const now = await page.evaluate(() => globalThis.purview.drawn.own);
  // Half a second of walking is meters. The drawn position still glides by less than a quantization step.
  assert.ok(Math.hypot(now.x - place.x, now.y - place.y) < 0.005, `${JSON.stringify(place)} -> ${JSON.stringify(now)}`);
  await text(0).press("Escape");

  // Revert restores the rules from before the first edit, and their effect.
  await page.click("#rules-revert");
  const back = await measureUntil("revert", page, 5000, (now) => now.relevant > whole.relevant * 0.8 && now.bytes > whole.bytes * 0.8);
  assert.deepEqual((await running(page)).nodes, first.nodes);
  assert.equal(await steps.nth(1).getByLabel("step enabled").isChecked(), true);
  assert.ok(await page.locator("#rules-revert").isDisabled());
  log(`revert: relevant ${back.relevant}, kB/s ${(back.bytes / 1000).toFixed(0)}`);

  // The arrow and the keys reorder steps. The node is disabled and enabled.
  await steps.nth(2).getByLabel("earlier").click();
  await until("the cloaked step comes before the team step", async () => (await running(page)).nodes[0].steps[1] === STEPS[2]);
  await text(1).press("Alt+ArrowDown");
  await until("the order of the steps is restored", async () => (await running(page)).nodes[0].steps[1] === STEPS[1]);
  await page.getByLabel(NAME).uncheck();
  await measureUntil("the node is off", page, 3000, (now) => now.relevant < whole.relevant * 0.2);
  await page.getByLabel(NAME).check();
  await measureUntil("the node is on", page, 3000, (now) => now.relevant > whole.relevant * 0.8);

  // Two pages: each shows the changes of the other. A pending text is kept.
  const other = await newPage(browser);
  await enterWorld(other.page, `${server.address}#rules`);
  const theirs = other.page.locator(".card .step .text").first();
  await until("the other page shows the rules", async () => await theirs.inputValue().catch(() => "") === STEPS[0]);
  await theirs.fill("add within 50");
  await theirs.press("Enter");
  await until("the first page follows", async () => await text(0).inputValue() === "add within 50");
  const { revision } = await running(page);
  assert.match(await elsewhere(), new RegExp(`Another operator set revision ${revision}`));
  await text(0).fill("add within 40");
  await theirs.fill("add within 45");
  await theirs.press("Enter");
  await until("the first page shows the conflict", async () => /Apply would replace/.test(await elsewhere()));
  assert.equal(await text(0).inputValue(), "add within 40");
  await page.click("#rules-theirs");
  assert.equal(await text(0).inputValue(), "add within 45");
  assert.equal(await page.evaluate(() => globalThis.purview.rules.running.revision), (await running(other.page)).revision);

  // Without a token, the page shows that one is needed.
  const guest = await newPage(browser);
  await enterWorld(guest.page, `http://127.0.0.1:${server.port}/#rules`);
  assert.ok(await guest.page.isVisible("#rules-off"));
  assert.equal(await guest.page.locator(".card").count(), 0);
  assert.ok(await guest.page.locator("#rules-try").isDisabled());
  assert.deepEqual(await guest.page.evaluate(() => globalThis.purview.radii()), []);

  assert.deepEqual([...pageErrors, ...other.pageErrors, ...guest.pageErrors], [], "the page reported errors");
} catch (problem) {
  await browser.context.pages().at(-1)?.screenshot({ path: join(artifacts, "rules-failed.png") }).catch(() => {});
  throw problem;
} finally {
  await browser.close();
  await stopServer(server);
}
log("passed");
