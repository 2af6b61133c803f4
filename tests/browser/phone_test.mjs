// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The page on a phone of 390 x 844: whatever a panel has can be reached, and is large enough to be used. And what
// the page says when its server is stopped.
//   node phone_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const server = await startServer(binary);
const browser = await openBrowser({ width: 390, height: 844 });
let isStopped = false;

/** Where an element is once it has been scrolled to, and how much of it is seen: nothing may lie over or outside. */
const seen = (page, selector) => page.evaluate((its) => {
  const element = document.querySelector(its);
  element.scrollIntoView({ block: "center" });
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const at = (x, y) => {
    const found = document.elementFromPoint(x, y);
    return found !== null && (element.contains(found) || found.contains(element));
  };
  const inside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
  return { left, top, right, bottom, inside, shown: inside && at((left + right) / 2, (top + bottom) / 2), height: bottom - top, width: right - left };
}, selector);

try {
  const { page, complaints } = await newPage(browser);
  await enterWorld(page, server.address);
  const open = async (name) => {
    await page.click(`#tab-${name}`);
    await page.evaluate(() => document.querySelector("aside").scrollTo(0, 0));
    await sleep(300);
    await page.screenshot({ path: join(artifacts, `phone-${name}.png`) });
  };
  /** Of what a panel shows without being scrolled, in CSS pixels. */
  const visibleOf = (selector) => page.evaluate((its) => {
    const side = document.querySelector("aside").getBoundingClientRect();
    const { top, bottom } = document.querySelector(its).getBoundingClientRect();
    return Math.max(0, Math.min(bottom, side.bottom) - Math.max(top, side.top));
  }, selector);

  await open("drive");
  for (const selector of ["#line-delay", "#line-loss", "#drive-rtt", "#shots-fired", "#shots-present"]) {
    const it = await seen(page, selector);
    assert.ok(it.shown, `drive: ${selector} can be scrolled to: ${JSON.stringify(it)}`);
  }
  // By hand, too: what only a script can scroll is out of reach.
  await page.evaluate(() => document.querySelector("aside").scrollTo(0, 0));
  await page.mouse.move(195, 800);
  await page.mouse.wheel(0, 3000);
  await until("the side scrolls to its end", () => page.evaluate(() => {
    const { top, bottom } = document.querySelector("#shots-fired").getBoundingClientRect();
    return top > 380 && bottom < innerHeight;
  }), 3000);
  await page.screenshot({ path: join(artifacts, "phone-drive-end.png") });

  await open("rules");
  await until("there are cards", () => page.evaluate(() => document.querySelectorAll("#rules-cards .card").length > 0));
  await page.evaluate(() => document.querySelector("#rules-cards").scrollIntoView({ block: "start" }));
  await page.screenshot({ path: join(artifacts, "phone-rules-cards.png") });
  assert.ok(await visibleOf("#rules-cards") > 150, `rules: ${await visibleOf("#rules-cards")} px of the cards`);
  const steps = await page.evaluate(() => document.querySelectorAll("#rules-cards .step input.text, #rules-cards .step .text").length);
  assert.ok(steps > 0);
  for (const selector of ["#rules-cards .card:first-child .step .text", "#rules-cards .card:last-child", "#rules-cards input[type=range]"]) {
    const it = await seen(page, selector);
    assert.ok(it.inside || it.height > 300, `rules: ${selector} can be scrolled to: ${JSON.stringify(it)}`);
  }
  // What rules are set with stays in sight, wherever one is.
  for (const at of [0, 10_000]) {
    await page.evaluate((y) => document.querySelector("aside").scrollTo(0, y), at);
    await sleep(100);
    for (const id of ["rules-try", "rules-apply", "rules-revert"]) {
      const { top, bottom, right } = await page.evaluate((its) => document.getElementById(its).getBoundingClientRect().toJSON(), id);
      assert.ok(top > 0 && bottom <= 844 && right <= 390, `rules: ${id} is in sight at ${at}`);
    }
    const tab = await page.evaluate(() => document.querySelector(".tabs").getBoundingClientRect().toJSON());
    assert.ok(tab.top >= 0 && tab.bottom <= 844, "the tabs are in sight");
  }
  // A slider is dragged by a finger.
  const slider = await page.evaluate(() => {
    const input = document.querySelector("#rules-cards input[type=range]");
    input.scrollIntoView({ block: "center" });
    const { left, top, width, height } = input.getBoundingClientRect();
    return { x: left + width * 0.5, y: top + height / 2, before: input.value };
  });
  await page.mouse.click(slider.x, slider.y);
  assert.notEqual(await page.evaluate(() => document.querySelector("#rules-cards input[type=range]").value), slider.before);

  for (const name of ["why", "world"]) {
    await open(name);
    await page.evaluate((its) => {
      [...document.getElementById(its).children].filter((child) => child.offsetHeight > 0).at(-1).dataset.last = its;
    }, `panel-${name}`);
    const last = await seen(page, `[data-last="panel-${name}"]`);
    assert.ok(last.inside || last.height > 300, `${name}: its end can be scrolled to: ${JSON.stringify(last)}`);
  }
  // Nothing is wider than the phone.
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("aside").scrollWidth <= innerWidth));
  // Nothing broke the page's own policy.
  assert.deepEqual(complaints, []);

  // A server that is stopped says so, and the page goes on saying it while nobody answers.
  await stopServer(server);
  isStopped = true;
  const banner = () => page.evaluate(() => document.querySelector("#banner").textContent);
  await until("the page hears that the server stops", async () => (await banner()) !== "");
  assert.equal(await banner(), "The server has stopped; trying again …");
  await sleep(4000);
  assert.equal(await banner(), "The server has stopped; trying again …");
  await page.screenshot({ path: join(artifacts, "phone-stopped.png") });
  console.log("phone: ok");
} finally {
  await browser.close();
  if (!isStopped) await stopServer(server);
}
