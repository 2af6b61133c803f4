// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Makes the screenshots of the documents from a running demo:
//   node screenshots.mjs PURVIEW_PROGRAM DIRECTORY [NAME...]
// Each NAME (truth, tour, why, rules, drive; default: all) gives NAME.png of 1360 x 800 and NAME-phone.png of 390 x 844.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "../../tests/browser/browser.mjs";

const [binary, directory, ...names] = process.argv.slice(2);
const SIZES = [{ suffix: "", width: 1360, height: 800 }, { suffix: "-phone", width: 390, height: 844, touch: true }];

/** The scenes. Each starts with a new page and a new player. */
const SCENES = {
  async truth() {
    await sleep(4000);  // until the chart shows a line
  },
  async tour(page) {
    await until("the tour", () => page.isVisible("#tour"));
    await sleep(1000);
  },
  async rules(page) {
    await page.evaluate(() => document.querySelector("#tab-rules").click());
    await page.getByLabel("radius in meters").first().fill("100");
    await sleep(5000);
    await page.evaluate(() => document.querySelector("#rules-cards").scrollIntoView());
  },
  async why(page) {
    await page.evaluate(() => document.querySelector("#tab-why").click());
    await until("an answer about a cloaked entity in range", async () => {
      await page.evaluate(async () => {
        const { drawn, scene, view } = globalThis.purview;
        const away = ({ x, y }) => Math.hypot(x - drawn.own.x, y - drawn.own.y);
        const place = scene.withheld.filter(({ hidden }) => hidden).sort((a, b) => away(a) - away(b))[0];
        if (place === undefined || away(place) > 58) return;
        const point = view.pointOf(place);
        const { left, top } = view.canvas.getBoundingClientRect();
        const [clientX, clientY] = [left + point.x, top + point.y];
        view.canvas.dispatchEvent(new PointerEvent("pointerdown", { clientX, clientY, bubbles: true, pointerId: 1, pointerType: "mouse" }));
        view.canvas.dispatchEvent(new PointerEvent("pointerup", { clientX, clientY, bubbles: true, pointerId: 1, pointerType: "mouse" }));
      });
      await sleep(1000);
      return page.evaluate(() => globalThis.purview.why.answer?.relevant === false);
    }, 20_000);
    await sleep(1000);
  },
  async drive(page) {
    await page.evaluate(() => document.querySelector("#tab-drive").click());
    await until("a cart", async () => {
      await page.evaluate(() => {
        const { drawn, walk } = globalThis.purview;
        const away = (cart) => Math.hypot(cart.x - drawn.own.x, cart.y - drawn.own.y);
        const isFree = (cart) => drawn.ghosts.every((ghost) => ghost.kind !== "player" || ghost.parent !== cart.id);
        const [cart] = drawn.ghosts.filter((ghost) => ghost.kind === "cart" && isFree(ghost)).sort((a, b) => away(a) - away(b));
        if (cart === undefined) return;
        if (away(cart) < 3) walk.board();
        else walk.to(cart);
      });
      await sleep(700);
      return page.evaluate(() => globalThis.purview.pilot.isDriving);
    }, 30_000);
    for (const [id, value] of [["line-delay", 150], ["line-jitter", 20], ["line-loss", 5]]) await page.locator(`#${id}`).fill(String(value));
    await page.evaluate(() => {
      const { walk, drawn } = globalThis.purview;
      for (const key of ["KeyW", "KeyD"]) walk.press(key);
      walk.fires = true;
      setInterval(() => {
        const away = (ghost) => Math.hypot(ghost.x - drawn.own.x, ghost.y - drawn.own.y);
        const [target] = drawn.ghosts.filter((ghost) => away(ghost) > 8).sort((a, b) => away(a) - away(b));
        if (target !== undefined) walk.aimAt(target);
      }, 50);
    });
    await sleep(5000);
    await page.evaluate(() => document.querySelector("aside").scrollTo(0, 0));
  },
};

/** Makes a screenshot. Retries with another start position, because some scenes depend on what is near. */
async function shoot(browser, address, name, path) {
  for (let attempt = 0; ; ++attempt) {
    const { page } = await newPage(browser, { tour: name === "tour" });
    await page.emulateMedia({ "prefers-color-scheme": "light" });
    try {
      await enterWorld(page, address);
      await until("the truth", () => page.evaluate(() => globalThis.purview.drawn.withheld > 0));
      await SCENES[name](page);
      await page.screenshot({ path });
      return;
    } catch (problem) {
      if (attempt === 4) throw problem;
    } finally {
      await page.goto("about:blank");
    }
  }
}

if (binary === undefined || directory === undefined || names.some((name) => !(name in SCENES))) {
  console.error(`usage: node screenshots.mjs PURVIEW_PROGRAM DIRECTORY [${Object.keys(SCENES).join("|")} ...]`);
  process.exit(2);
}
mkdirSync(directory, { recursive: true });
for (const { suffix, ...size } of SIZES) {
  for (const name of names.length > 0 ? names : Object.keys(SCENES)) {
    const server = await startServer(binary);  // each scene begins with the same world
    const browser = await openBrowser(size);
    try {
      await shoot(browser, server.address, name, join(directory, `${name}${suffix}.png`));
      console.log(`${name}${suffix}.png`);
    } finally {
      await browser.close();
      await stopServer(server);
    }
  }
}
