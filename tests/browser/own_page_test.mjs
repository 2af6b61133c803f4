// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The page of docs/your-page.md in a real browser, from a web server other than the game server:
//   node own_page_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY SOURCE_DIRECTORY MODULE
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts, source, modulePath] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const files = {
  "/own_page.html": ["text/html", join(source, "examples/own_page.html")],
  "/client.mjs": ["text/javascript", join(source, "web/client.mjs")],
  "/purview_client.wasm": ["application/wasm", modulePath],
};
const site = createServer(async ({ url }, answer) => {
  const [type, path] = files[url.split("?")[0]] ?? [];
  if (path === undefined) return answer.writeHead(url === "/favicon.ico" ? 204 : 404).end();
  answer.writeHead(200, { "content-type": type }).end(await readFile(path));
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));

const origin = `http://127.0.0.1:${site.address().port}`;
let server = await startServer(binary, 0, "--origin", origin);
const browser = await openBrowser({ width: 900, height: 600 });
try {
  const { page, pageErrors } = await newPage(browser);
  await page.goto(`http://127.0.0.1:${site.address().port}/own_page.html?server=ws://127.0.0.1:${server.port}/play`);
  const readPage = () => page.evaluate(() => {
    const { client, figures } = globalThis.own;
    const { data } = document.querySelector("#canvas").getContext("2d").getImageData(0, 0, 900, 500);
    return { state: client.state, ghosts: client.ghostCount, figures: figures.size, isDrawn: data.some((byte) => byte > 0),
             own: data.some((byte, i) => i % 4 === 0 && byte === 0xff && data[i + 1] === 0xd2),
             status: document.querySelector("#status").textContent };
  });
  const inWorld = async () => {
    const seen = await readPage();
    return seen.state === "joined" && seen.ghosts > 20 && seen.isDrawn && seen.own ? seen : null;
  };
  await until("the page has its client", () => page.evaluate(() => globalThis.own !== undefined));
  const seen = await until("the page draws its ghosts and its own player", inWorld);
  assert.equal(seen.figures, seen.ghosts);
  assert.match(seen.status, /ghosts, tick \d+$/);

  // The player walks to the clicked point.
  const ownPosition = () => page.evaluate(() => {
    const { client } = globalThis.own;
    const { count, floats, words } = client.collect(client.newestTick);
    for (let i = 0; i < count; ++i) if (words[8 * i + 6] === 1) return [floats[8 * i], floats[8 * i + 1]];
    return null;
  });
  const from = await ownPosition();
  const { x, y, meters } = await page.evaluate(() => {
    const { left, top, width, height } = document.querySelector("#canvas").getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2, meters: 200 / width };
  });
  await page.mouse.click(x + 60, y - 30);
  const away = async () => {
    const [toX, toY] = await ownPosition();
    return Math.hypot(toX - from[0] - 60 * meters, toY - from[1] + 30 * meters);
  };
  assert.ok(await away() > 5);
  await until("the player walks there", async () => await away() < 1);
  await sleep(500);
  assert.ok(await away() < 1, "the player stays there");
  await page.screenshot({ path: join(artifacts, "own_page.png") });
  assert.deepEqual(pageErrors, []);

  // The page reconnects to a restarted server.
  const { port } = server;
  await stopServer(server);
  await until("the page shows that the connection ended", async () => /disconnected/.test((await readPage()).status));
  server = await startServer(binary, port, "--origin", origin);
  await until("the page is connected again", inWorld, 30000);
  await sleep(200);
  const back = await readPage();
  assert.equal(back.figures, back.ghosts);
  console.log(`own page: ${seen.ghosts} ghosts, then ${back.ghosts}`);
} finally {
  await browser.close();
  await stopServer(server);
  site.close();
}
