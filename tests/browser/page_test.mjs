// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The page in a real browser against a real server:
//   node page_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// The instances that WebGL draws must equal the ghosts that the server reports for this client, in twenty samples
// while it moves. The page survives the loss of the GPU context and a restart of the server, even with another
// world.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });

const log = (text) => console.log(`page test: ${text}`);

/** Runs in the page before its own scripts. Records every instanced draw call with its layer. */
function spyOnWebGL() {
  const draw = WebGL2RenderingContext.prototype.drawArraysInstanced;
  globalThis.spy = { ghosts: null, truth: 0 };
  WebGL2RenderingContext.prototype.drawArraysInstanced = function (mode, first, vertices, instances) {
    const page = globalThis.purview;
    if (page?.view.pass === "ghosts") {
      globalThis.spy.ghosts = { instances, packet: page.client.newestPacket, tick: page.client.newestTick };
    } else if (page?.view.pass === "truth") {
      globalThis.spy.truth = instances;
    }
    return draw.call(this, mode, first, vertices, instances);
  };
}

/** Writes a world with another map, other kinds and another name than the vale. */
function writeOtherWorld(directory) {
  const herd = (type) => ({ type, x: 0, y: 0, width: 800, height: 800, properties: { nb: "40" } });
  const map = { width: 50, height: 50, tilewidth: 16, tileheight: 16, tilesets: [],
                layers: [{ type: "objectgroup", name: "roaming", objects: [herd("apple"), herd("zebra")] }] };
  writeFileSync(join(directory, "map.json"), JSON.stringify(map));
  writeFileSync(join(directory, "world.toml"), 'name = "other"\n[map]\nfile = "map.json"\nmeters_per_tile = 4\n');
  return join(directory, "world.toml");
}

const worlds = mkdtempSync(join(tmpdir(), "purview-worlds-"));
let server = await startServer(binary);
log(`server at port ${server.port}`);
const browser = await openBrowser();

try {
  const { page, pageErrors } = await newPage(browser);
  await page.addInitScript(spyOnWebGL);
  await enterWorld(page, server.address);
  const ownPlace = () => page.evaluate(() => globalThis.purview.drawn.own);

  // The server's report on this client's ghosts after each packet.
  await page.evaluate(async () => {
    const { client, operator } = globalThis.purview;
    const { observer } = await operator.ask({ op: "find", nonce: client.nonce });
    globalThis.heldByPacket = new Map();
    operator.on("held", (report) => globalThis.heldByPacket.set(report.packet, report));
    operator.tell({ op: "held", observer });
  });

  const before = await ownPlace();
  let compared = 0;
  let changed = 0;
  let last = -1;
  const directions = ["d", "s", "a", "w"];
  for (let round = 0; compared < 20; ++round) {
    assert.ok(round < 200, "twenty comparisons in 200 rounds");
    if (round % 8 === 0) {
      for (const key of directions) await page.keyboard.up(key);
      await page.keyboard.down(directions[(round / 8) % 4]);
    }
    await sleep(250);
    const drawn = await page.evaluate(() => globalThis.spy.ghosts);
    const held = await until(`the server's report on packet ${drawn.packet}`, () => page.evaluate((packet) => {
      const newest = Math.max(0, ...globalThis.heldByPacket.keys());
      return globalThis.heldByPacket.get(packet) ?? (newest > packet + 40 ? "none" : null);
    }, drawn.packet));
    if (held === "none") continue;  // a packet from before the request
    assert.equal(drawn.instances, held.relevant - held.backlog + held.leaves,
                 `packet ${drawn.packet}: drawn ${drawn.instances}, server ${JSON.stringify(held)}`);
    assert.equal(drawn.tick, held.tick);
    ++compared;
    if (drawn.instances !== last) ++changed;
    last = drawn.instances;
  }
  for (const key of directions) await page.keyboard.up(key);
  const after = await ownPlace();
  const moved = Math.hypot(after.x - before.x, after.y - before.y);
  assert.ok(moved > 5 && moved < 100, `the player moved ${moved.toFixed(1)} m`);
  assert.ok(changed > 3, `the number of ghosts changed ${changed} times`);
  log(`20 of 20 draw calls equal the server's report, ${changed} different counts, moved ${moved.toFixed(0)} m`);

  // A click moves the player there.
  await page.mouse.click(700, 200);
  await sleep(700);
  const clicked = await ownPlace();
  assert.ok(Math.hypot(clicked.x - after.x, clicked.y - after.y) > 1, "a click moves the player");

  // The truth layer is drawn only when enabled. It shows more than this client holds.
  await page.uncheck("#truth");
  await sleep(300);
  await page.evaluate(() => { globalThis.spy.truth = 0; });
  await sleep(600);
  assert.equal(await page.evaluate(() => globalThis.spy.truth), 0);
  await page.screenshot({ path: join(artifacts, "page.png") });
  await page.check("#truth");
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, 900);
  await until("the truth is drawn", () => page.evaluate(() => globalThis.spy.truth > 100));
  await sleep(1200);
  const things = await page.evaluate(() => globalThis.spy.truth + globalThis.spy.ghosts.instances);
  assert.ok(things >= 200, `${things} entities drawn`);
  await page.screenshot({ path: join(artifacts, "truth.png") });
  assert.ok(Number(await page.textContent("#relevant")) > 50);
  assert.ok(await page.locator("#log li").count() > 5);
  log(`${things} entities on the screenshot`);

  // The browser loses and restores the GPU context. Water and objects are drawn again.
  const seen = () => page.evaluate(() => new Promise((resolve) => {
    requestAnimationFrame(() => {  // runs after the page's callback, while its frame is readable
      const gl = globalThis.purview.view.canvas.getContext("webgl2");
      const pixels = new Uint8Array(gl.drawingBufferWidth * gl.drawingBufferHeight * 4);
      gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      const found = { water: 0, bright: 0 };
      for (let at = 0; at < pixels.length; at += 4) {
        const [red, green, blue] = pixels.subarray(at, at + 3);
        if (red > 128 || green > 128 || blue > 128) ++found.bright;
        else if (blue > red + 16 && blue > green + 6) ++found.water;
      }
      resolve(found);
    });
  }));
  await page.uncheck("#truth");
  await page.evaluate(() => {
    globalThis.purview.daylight.choose("night");  // nothing of the ground is bright
    globalThis.purview.view.halfHeight = 1200;
  });
  await sleep(300);
  const first = await seen();
  assert.ok(first.water > 5000 && first.bright > 50, `seen: ${JSON.stringify(first)}`);
  await page.evaluate(() => {
    globalThis.gpu = globalThis.purview.view.canvas.getContext("webgl2").getExtension("WEBGL_lose_context");
    globalThis.gpu.loseContext();
  });
  await sleep(300);
  assert.deepEqual(await seen(), { water: 0, bright: 0 });
  await page.evaluate(() => globalThis.gpu.restoreContext());
  await until("everything is drawn again", async () => {
    const { water, bright } = await seen();
    return water > first.water / 2 && bright > first.bright / 2;
  });
  log(`drawn again after the loss of the GPU context: ${JSON.stringify(await seen())}, before ${JSON.stringify(first)}`);

  // A connection with a wrong token does not get the operator channel.
  const refused = await page.evaluate(async (host) => {
    const socket = new WebSocket(`ws://${host}/operator?token=guess`);
    return new Promise((resolve) => { socket.onopen = () => resolve("opened"); socket.onerror = () => resolve("refused"); });
  }, `127.0.0.1:${server.port}`);
  assert.equal(refused, "refused");

  // The server restarts. The page reconnects to a new world.
  await stopServer(server);
  await until("the page shows that the server stopped", () => page.evaluate(() => globalThis.purview.client.state !== "joined"));
  const nonce = await page.evaluate(() => globalThis.purview.client.nonce);
  server = await startServer(binary, server.port);
  await until("the page joins again", () => page.evaluate(() => globalThis.purview.client.state === "joined" && globalThis.purview.client.ghostCount > 50));
  assert.notEqual(await page.evaluate(() => globalThis.purview.client.nonce), nonce);
  log("the page reconnected after a restart of the server");

  // The server restarts with another world. The page reloads for it.
  const shown = () => page.evaluate(() => ({
    title: document.getElementById("world").textContent,
    legend: [...document.querySelectorAll("#legend span")].map((kind) => kind.textContent),
    kinds: globalThis.purview?.client.schema.kinds ?? [],
    drawn: [...new Set(globalThis.purview?.drawn.ghosts.map((ghost) => ghost.kind))],
  })).catch(() => ({ title: "", drawn: [] }));  // the page is loading
  assert.match((await shown()).title, /^vale /);
  await stopServer(server);
  server = await startServer(binary, server.port, "--world", writeOtherWorld(worlds), "--operator-token", new URL(server.address).searchParams.get("operator"));
  await until("the page shows the other world", async () => {
    const { title, drawn } = await shown();
    return title.startsWith("other ") && drawn.includes("zebra");
  });
  await sleep(500);
  const other = await shown();
  assert.deepEqual(other.legend, other.kinds);
  assert.ok(other.drawn.every((kind) => other.kinds.includes(kind)), `drawn: ${other.drawn}`);
  log("the page reloaded after a restart with another world");

  const serious = pageErrors.filter((text) => !/WebSocket|ERR_CONNECTION|403/.test(text));
  assert.deepEqual(serious, [], "the page reported errors");
} finally {
  await browser.close();
  await stopServer(server);
  rmSync(worlds, { recursive: true, force: true });
}
log("passed");
