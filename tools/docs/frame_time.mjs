// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Measures the time of one frame of the page with about 300 ghosts and several thousand entities of the truth
// (the server's complete world):
//   node frame_time.mjs PURVIEW_PROGRAM [FRAMES]
// Prints the time of the page's script, and the time until the GPU has finished the frame. Without a GPU, Chromium
// draws with SwiftShader on the CPU.
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "../../tests/browser/browser.mjs";

const [binary, frames = "100"] = process.argv.slice(2);
const RADIUS_M = 180;
const HALF_HEIGHT_M = 420;

/** Runs in the page before its own scripts. Measures each animation frame. */
function measureFrames() {
  const request = globalThis.requestAnimationFrame;
  globalThis.frameTimes = [];
  const pixel = new Uint8Array(4);
  globalThis.requestAnimationFrame = (draw) => request((at) => {
    const start = performance.now();
    draw(at);
    const script = performance.now() - start;
    const gl = globalThis.purview?.view.canvas.getContext("webgl2");
    gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);  // waits for the GPU
    globalThis.frameTimes.push({ script, whole: performance.now() - start });
  });
}

const server = await startServer(binary);
const browser = await openBrowser({ width: 1360, height: 800 });
try {
  const { page } = await newPage(browser);
  await page.addInitScript(measureFrames);
  await enterWorld(page, server.address);
  await page.evaluate(async ([radius, halfHeight]) => {
    const { operator, view } = globalThis.purview;
    await operator.ask({ op: "set_rules", nodes: [{ name: "near or same team, not cloaked", steps: [`add within ${radius} leave ${radius * 1.1}`, "add same team", "subtract flag cloaked"] }] });
    view.halfHeight = halfHeight;
    operator.on("truth", (frame) => { globalThis.truthCount = frame.count; });
  }, [RADIUS_M, HALF_HEIGHT_M]);
  await page.check("#truth");
  await until("several thousand entities", () => page.evaluate(() => globalThis.truthCount > 1500));
  await sleep(4000);
  await page.evaluate(() => { globalThis.frameTimes = []; });
  await until("the frames", () => page.evaluate((count) => globalThis.frameTimes.length >= count, Number(frames)), 120_000);
  const { times, ghosts, truth } = await page.evaluate(() => ({ times: globalThis.frameTimes, ghosts: globalThis.purview.drawn.ghosts.length, truth: globalThis.truthCount }));
  const at = (name, share) => times.map((time) => time[name]).sort((a, b) => a - b)[Math.floor(share * (times.length - 1))].toFixed(2);
  console.log(`${ghosts} ghosts, ${truth} entities of the truth, ${times.length} frames of the 1360 x 800 window`);
  for (const name of ["script", "whole"]) console.log(`${name}: median ${at(name, 0.5)} ms, 95th percentile ${at(name, 0.95)} ms`);
} finally {
  await browser.close();
  await stopServer(server);
}
