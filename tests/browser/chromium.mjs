// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Drives Chromium through its DevTools protocol over a pipe. Needs only Node 18 and a Chromium. Actions wait until
// exactly one matching element exists and is visible and enabled.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const WAIT_MS = 30_000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const ARGUMENTS = [
  "--headless", "--remote-debugging-pipe", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--no-default-browser-check", "--disable-sync",
  "--disable-background-networking", "--disable-component-update", "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-dev-shm-usage",
  "--disable-extensions", "--hide-scrollbars", "--mute-audio", "--password-store=basic",
];

/** Messages end with a zero byte. Replies are matched by id, events by session. */
class Connection {
  #waiting = new Map();
  #next = 1;
  #rest = [];
  #reason = null;
  listeners = new Map();

  constructor(input, output) {
    this.output = output;
    input.on("data", (bytes) => this.#read(bytes));
    input.on("close", () => this.fail("the connection to the browser is closed"));
    input.on("error", () => this.fail("the connection to the browser is closed"));
    output.on("error", () => this.fail("the connection to the browser is closed"));
  }

  fail(reason) {
    this.#reason ??= new Error(reason);
    for (const { reject } of this.#waiting.values()) reject(this.#reason);
    this.#waiting.clear();
  }

  send(method, params = {}, sessionId = undefined) {
    if (this.#reason) return Promise.reject(this.#reason);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, method });
      this.output.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  #read(bytes) {
    for (let from = 0; ;) {
      const end = bytes.indexOf(0, from);
      if (end < 0) {
        this.#rest.push(bytes.subarray(from));
        return;
      }
      const message = JSON.parse(Buffer.concat([...this.#rest, bytes.subarray(from, end)]).toString());
      this.#rest = [];
      from = end + 1;
      const waiting = this.#waiting.get(message.id);
      if (waiting === undefined) {
        this.listeners.get(message.sessionId)?.(message.method, message.params);
        continue;
      }
      this.#waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else waiting.resolve(message.result);
    }
  }
}

/** Returns a value as JavaScript source, including values that JSON cannot represent. */
function literal(value) {
  if (value === undefined || typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(literal).join()}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.entries(value).map(([key, its]) => `${JSON.stringify(key)}:${literal(its)}`).join()}}`;
  }
  return JSON.stringify(value);
}

/**
 * Runs in the page: finds elements by `path`, then does `what` with them. Steps of a path: {css}, {label}, {nth}.
 * Returns {value}, or {problem}: the reason why the caller must retry.
 */
function inPage(path, what, given) {
  const isVisible = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(element).visibility !== "hidden";
  };
  const labelsOf = (element) => [element.getAttribute("aria-label"), ...[...(element.labels ?? [])].map((label) => label.textContent),
    ...(element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent)];
  let found = [document];
  for (const { css, label, nth } of path) {
    if (css !== undefined) {
      const [, selector, onlyVisible] = /^(.*?)(:visible)?$/s.exec(css);
      found = found.flatMap((from) => [...from.querySelectorAll(selector)]).filter((element) => !onlyVisible || isVisible(element));
    } else if (label !== undefined) {
      const has = (text) => typeof text === "string" && text.toLowerCase().includes(label.toLowerCase());
      found = found.flatMap((from) => [...from.querySelectorAll("*")]).filter((element) => labelsOf(element).some(has));
    } else {
      found = found.slice(nth, nth + 1);
    }
  }
  found = [...new Set(found)];
  if (what === "count") return { value: found.length };
  if (what === "texts") return { value: found.map((element) => element.innerText) };
  if (what === "isVisible") return { value: found.length > 0 && isVisible(found[0]) };
  if (found.length !== 1) return { problem: `there are ${found.length} such elements instead of one` };
  const [element] = found;
  switch (what) {
    case "text": return { value: element.textContent };
    case "innerText": return { value: element.innerText };
    case "value": return { value: element.value };
    case "checked": return { value: element.checked };
    case "disabled": return { value: element.matches(":disabled") };
    case "attribute": return { value: element.getAttribute(given) };
  }
  if (element.matches(":disabled")) return { problem: "it is disabled" };
  if (!isVisible(element)) return { problem: "it is not visible" };
  if (what === "focus" || what === "select") {
    element.focus();
    if (document.activeElement !== element) return { problem: "it cannot be focused" };
    if (what === "select" && element.type === "range") {
      element.value = given;
      for (const type of ["input", "change"]) element.dispatchEvent(new Event(type, { bubbles: true }));
      return { value: "done" };
    }
    if (what === "select") element.select();
    return { value: "text" };
  }
  // "point": the position to click on.
  element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const hit = document.elementFromPoint(x, y);
  if (hit === null || !(element.contains(hit) || hit.contains(element) && hit.matches("label"))) {
    return { problem: hit === null ? "its center is outside the viewport" : `it is covered by ${hit.outerHTML.slice(0, 80)}` };
  }
  return { value: { x, y } };
}

class Locator {
  #page;
  #path;

  constructor(page, path) {
    this.#page = page;
    this.#path = path;
  }
  #with(step) { return new Locator(this.#page, [...this.#path, step]); }
  #now(what, given) {
    return this.#page.run(`(${inPage})(${literal(this.#path)}, ${literal(what)}, ${literal(given)})`);
  }
  async #soon(what, given) {
    const end = Date.now() + WAIT_MS;
    for (;;) {
      const { value, problem } = await this.#now(what, given);
      if (problem === undefined) return value;
      if (Date.now() > end) throw new Error(`timed out: ${what} of ${JSON.stringify(this.#path)}: ${problem}`);
      await sleep(50);
    }
  }

  locator(css) { return this.#with({ css }); }
  getByLabel(label) { return this.#with({ label }); }
  nth(nth) { return this.#with({ nth }); }
  first() { return this.nth(0); }
  async count() { return (await this.#now("count")).value; }
  async allInnerTexts() { return (await this.#now("texts")).value; }
  async isVisible() { return (await this.#now("isVisible")).value; }
  textContent() { return this.#soon("text"); }
  innerText() { return this.#soon("innerText"); }
  inputValue() { return this.#soon("value"); }
  isChecked() { return this.#soon("checked"); }
  isDisabled() { return this.#soon("disabled"); }
  getAttribute(name) { return this.#soon("attribute", name); }
  focus() { return this.#soon("focus"); }
  async press(key) {
    await this.focus();
    await this.#page.keyboard.press(key);
  }
  async pressSequentially(text, { delay = 0 } = {}) {
    for (const key of text) {
      await this.press(key);
      await sleep(delay);
    }
  }
  async click() {
    const { x, y } = await this.#soon("point");
    await this.#page.mouse.click(x, y);
  }
  async #setChecked(wanted) {
    if (await this.isChecked() === wanted) return;
    await this.click();
    if (await this.isChecked() !== wanted) throw new Error(`${JSON.stringify(this.#path)}: a click does not change it`);
  }
  check() { return this.#setChecked(true); }
  uncheck() { return this.#setChecked(false); }
  async fill(text) {
    if (await this.#soon("select", text) === "text") await this.#page.send("Input.insertText", { text });
  }
}

const MODIFIERS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };
const NAMED_KEYS = { Alt: [18], Control: [17], Meta: [91], Shift: [16],
                      Enter: [13, "\r"], Tab: [9], Escape: [27], Backspace: [8], Delete: [46], Home: [36], End: [35],
                     ArrowLeft: [37], ArrowUp: [38], ArrowRight: [39], ArrowDown: [40] };

class Keyboard {
  #held = new Set();
  #modifiers = 0;

  constructor(page) { this.page = page; }
  #event(type, key) {
    const [number, text] = NAMED_KEYS[key] ?? [key.toUpperCase().charCodeAt(0), key];
    const code = key in NAMED_KEYS ? key : key === " " ? "Space" : /[a-z]/i.test(key) ? `Key${key.toUpperCase()}` : `Digit${key}`;
    return this.page.send("Input.dispatchKeyEvent", {
      type, key, code, modifiers: this.#modifiers, windowsVirtualKeyCode: number, autoRepeat: type !== "keyUp" && this.#held.has(key),
      ...(type === "keyDown" ? { text, unmodifiedText: text } : {}),
    });
  }
  async down(key) {
    this.#modifiers |= MODIFIERS[key] ?? 0;
    await this.#event(NAMED_KEYS[key]?.length === 1 ? "rawKeyDown" : "keyDown", key);
    this.#held.add(key);
  }
  async up(key) {
    this.#held.delete(key);
    this.#modifiers &= ~(MODIFIERS[key] ?? 0);
    await this.#event("keyUp", key);
  }
  /** Presses a key, or a combination such as "Alt+ArrowDown". */
  async press(keys) {
    const all = keys.length > 1 ? keys.split("+") : [keys];
    for (const key of all) await this.down(key);
    for (const key of all.reverse()) await this.up(key);
  }
}

class Mouse {
  #at = { x: 0, y: 0 };
  #isDown = false;

  constructor(page) { this.page = page; }
  #event(type, more = {}) {
    return this.page.send("Input.dispatchMouseEvent", { type, ...this.#at, ...more });
  }
  async move(x, y) {
    this.#at = { x, y };
    await this.#event("mouseMoved", this.#isDown ? { button: "left", buttons: 1 } : {});
  }
  async down() {
    this.#isDown = true;
    await this.#event("mousePressed", { button: "left", buttons: 1, clickCount: 1 });
  }
  async up() {
    this.#isDown = false;
    await this.#event("mouseReleased", { button: "left", clickCount: 1 });
  }
  async click(x, y) {
    await this.move(x, y);
    await this.down();
    await this.up();
  }
  wheel(deltaX, deltaY) { return this.#event("mouseWheel", { deltaX, deltaY }); }
}

class Page {
  #connection;
  #session;
  #listeners = { pageerror: [], console: [] };
  #loaded = () => {};

  constructor(connection, session) {
    this.#connection = connection;
    this.#session = session;
    this.keyboard = new Keyboard(this);
    this.mouse = new Mouse(this);
    connection.listeners.set(session, (method, params) => this.#event(method, params));
  }

  send(method, params) { return this.#connection.send(method, params, this.#session); }

  #event(method, params) {
    const emit = (name, what) => { for (const listener of this.#listeners[name]) listener(what); };
    const emitError = (text) => emit("console", { type: () => "error", text: () => text });
    if (method === "Page.loadEventFired") this.#loaded();
    else if (method === "Runtime.exceptionThrown") emit("pageerror", textOf(params.exceptionDetails));
    else if (method === "Log.entryAdded" && params.entry.level === "error") emitError(params.entry.text);
    else if (method === "Runtime.consoleAPICalled" && params.type === "error") {
      emitError(params.args.map(({ value, description }) => String(value ?? description)).join(" "));
    }
  }

  /** `pageerror`: a text; `console`: {type(), text()}, errors only. */
  on(name, listener) { this.#listeners[name].push(listener); }

  async goto(url) {
    const loaded = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`timed out: ${url} loads`)), WAIT_MS);
      this.#loaded = () => { clearTimeout(timer); resolve(); };
    });
    loaded.catch(() => {});
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText) {
      this.#loaded();
      throw new Error(`${url}: ${errorText}`);
    }
    await loaded;
  }

  addInitScript(script) { return this.send("Page.addScriptToEvaluateOnNewDocument", { source: `(${script})()` }); }

  /** Starts a touch with one finger per point: [{x, y}]. Returns {move(...points), end()}. */
  async touch(...points) {
    const send = (type, touchPoints) => this.send("Input.dispatchTouchEvent", { type, touchPoints: touchPoints.map((point, id) => ({ ...point, id })) });
    await send("touchStart", points);
    return { move: (...to) => send("touchMove", to), end: () => send("touchEnd", []) };
  }
  async tap(x, y) { await (await this.touch({ x, y })).end(); }

  /** Sets media features, such as {"prefers-color-scheme": "dark"}. */
  emulateMedia(features) {
    return this.send("Emulation.setEmulatedMedia", { features: Object.entries(features).map(([name, value]) => ({ name, value })) });
  }

  /** Returns the value of an expression. Awaits a promise. */
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(textOf(exceptionDetails));
    return "unserializableValue" in result ? Number(result.unserializableValue) : result.value;
  }
  evaluate(script, given) { return this.run(`(${script})(${literal(given)})`); }

  async screenshot({ path }) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  locator(css) { return new Locator(this, [{ css }]); }
  getByLabel(label) { return new Locator(this, [{ label }]); }
  click(css) { return this.locator(css).click(); }
  check(css) { return this.locator(css).check(); }
  uncheck(css) { return this.locator(css).uncheck(); }
  focus(css) { return this.locator(css).focus(); }
  isVisible(css) { return this.locator(css).isVisible(); }
  innerText(css) { return this.locator(css).innerText(); }
  textContent(css) { return this.locator(css).textContent(); }
  getAttribute(css, name) { return this.locator(css).getAttribute(name); }
}

function textOf({ text, exception }) {
  return exception?.description ?? (exception === undefined ? text : `${text} ${exception.value}`);
}

/** Starts a browser with `profile` as its directory: {pages(), newPage(), close()}. `touch`: emulates a touch screen. */
export async function launch(executable, profile, { width, height, touch = false }) {
  const child = spawn(executable, [...ARGUMENTS, `--user-data-dir=${profile}`, `--window-size=${width},${height}`, "about:blank"],
                      { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
  let output = "";
  child.stderr.on("data", (text) => { output = (output + text).slice(-4000); });
  const ended = new Promise((resolve) => { child.once("exit", resolve); child.once("error", resolve); });
  const connection = new Connection(child.stdio[4], child.stdio[3]);
  ended.then(() => connection.fail(`the browser ended: ${output}`));
  await connection.send("Browser.getVersion");
  const pages = [];
  return {
    pages: () => [...pages],
    async newPage() {
      // Each page has its own window, so that all pages are rendered.
      const { targetId } = await connection.send("Target.createTarget", { url: "about:blank", newWindow: true });
      const { sessionId } = await connection.send("Target.attachToTarget", { targetId, flatten: true });
      const page = new Page(connection, sessionId);
      for (const domain of ["Page", "Runtime", "Log"]) await page.send(`${domain}.enable`);
      await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
      await page.send("Emulation.setFocusEmulationEnabled", { enabled: true });
      if (touch) await page.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 5 });
      pages.push(page);
      return page;
    },
    async close() {
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await connection.send("Browser.close").catch(() => {});
      await ended;
      clearTimeout(timer);
    },
  };
}
