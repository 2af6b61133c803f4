// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The steps of the tour: walk, change a rule, explain an entity, drive.
import { counted, grouped } from "./dom.mjs";
import { NO_GHOST } from "./client.mjs";

const WALK_M = 12;
const EFFECT_MS = 800;
const STRAY_M = 5;     // withheld entities have no ids; one is found again as the nearest of its kind within this distance
const DRIVEN_MPS = 1;
const RIDER_M = 2;
const TAKEN_WITHIN_M = 4;

const isTouch = () => matchMedia("(pointer: coarse)").matches;
const away = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const nearest = (things, place) => things.reduce((best, thing) => (best === null || away(thing, place) < away(best, place) ? thing : best), null);
const nothing = { isPossible: () => true, begin() {}, place: () => null, element: () => null };

/**
 * `page`: {client, scene, view, pilot, tabs, radii(), operator or null}.
 * @returns {import("./tour.mjs").Step[]}
 */
export function tourSteps(page) {
  return [walkStep(page), ruleStep(page), whyStep(page), driveStep(page)];
}

function walkStep({ client, scene, radii }) {
  let start = null;
  let walked = 0;
  const counts = { enter: 0, leave: 0 };
  for (const name of ["enter", "leave"]) client.on(name, () => { ++counts[name]; });
  return {
    ...nothing,
    title: "Walk",
    begin() {
      start = null;
      walked = counts.enter = counts.leave = 0;
    },
    words() {
      const [radius] = radii();
      const near = radius === undefined ? "Entities near you" : `Entities within ${radius.enter} m of you`;
      return `${isTouch() ? "Tap the map where you want to go" : "Press W A S D, or click the map"}. ${near} enter: from then on, the server sends them to you.`;
    },
    isDone() {
      const { own } = scene.drawn;
      if (own === null) return false;
      start ??= own;
      walked += away(own, start);
      start = own;
      return walked >= WALK_M && counts.enter + counts.leave > 0;
    },
    outcome: () => `While you walked, ${counted(counts.enter, "entity", "entities")} entered and ${counts.leave} left. The server sends you nothing about the faded ones.`,
  };
}

function ruleStep({ client, tabs, operator }) {
  let before = "";
  let had = 0;
  let changedAt = null;
  const rules = () => JSON.stringify(operator.rules.running?.nodes ?? null);
  const row = () => document.querySelector("#rules-cards .number");
  return {
    ...nothing,
    title: "Change a rule",
    isPossible: () => operator !== null && operator.rules.running !== null && !operator.rules.isReadOnly && row() !== null,
    begin() {
      tabs.open("rules");
      before = rules();
      had = client.ghostCount;
      changedAt = null;
    },
    words: () => `Move the slider “${row()?.firstElementChild.textContent ?? ""}”. The server applies the rule at once, to all clients.`,
    isDone() {  // the rules differ, and their effect has had time to arrive
      if (rules() === before) changedAt = null;
      else changedAt ??= performance.now();
      return changedAt !== null && performance.now() - changedAt > EFFECT_MS;
    },
    outcome: () => `You now have ${counted(client.ghostCount, "entity", "entities")}; before the change it was ${grouped(had)}. Revert restores the rule.`,
    element: row,
  };
}

function whyStep({ scene, view, tabs, operator }) {
  let target = null;  // {x, y, kind} of a withheld entity, or a ghost
  let explained = null;  // the explained entity before this step
  /** Prefers a withheld entity to a ghost. Either must be well inside the view. */
  const choose = () => {
    const { own, ghosts } = scene.drawn;
    if (own === null) return null;
    const inView = (thing) => away(thing, own) < view.halfHeight * 0.6 && away(thing, own) > view.halfHeight * 0.1 && Math.abs(thing.x - own.x) < view.halfWidth * 0.7;
    return nearest(scene.withheld.filter(inView), own) ?? nearest(ghosts.filter((ghost) => !ghost.owned && inView(ghost)), own);
  };
  const follow = () => {
    if (target === null) return choose();
    if (target.id !== undefined) return scene.drawn.ghosts.find(({ id }) => id === target.id) ?? choose();
    const { kind } = target;
    const here = nearest(scene.withheld.filter((entity) => entity.kind === kind), target);
    return here !== null && away(here, target) < STRAY_M ? here : choose();
  };
  return {
    ...nothing,
    title: "Explain an entity",
    isPossible: () => operator !== null && operator.rules.running !== null,
    begin() {
      tabs.open("why");
      target = null;
      explained = operator.why.second;
    },
    words: () => `${isTouch() ? "Tap" : "Click"} the ringed entity, or any other. The server explains why it is sent to you or withheld.`,
    isDone: () => operator.why.answer !== null && operator.why.second !== explained,
    outcome: () => "The panel lists each step of the rule with its numbers, and the changes that would reverse the result.",
    place() {
      target = follow();
      return target && { x: target.x, y: target.y, name: "why?" };
    },
  };
}

function driveStep({ client, scene, pilot, tabs }) {
  const nearestCart = () => {
    const { own, ghosts } = scene.drawn;
    if (own === null) return null;
    const isTaken = (cart) => ghosts.some(({ kind, parent }) => kind === "player" && parent === cart.id && parent !== NO_GHOST);
    const { kinds } = client.schema;
    const [player, cart] = [kinds.indexOf("player"), kinds.indexOf("cart")];
    const riders = scene.withheld.filter(({ kind }) => kind === player);
    const free = scene.withheld.filter((entity) => entity.kind === cart && riders.every((rider) => away(rider, entity) > RIDER_M));
    return nearest([...ghosts.filter((ghost) => ghost.kind === "cart" && !isTaken(ghost)), ...free], own);
  };
  const metersTo = (cart) => away(cart, scene.drawn.own);
  const key = (letter, name) => (isTouch() ? `the button “${name}”` : letter);
  return {
    ...nothing,
    title: "Drive",
    isPossible: () => pilot.isReady && client.schema.kinds.includes("cart"),
    begin() { tabs.open("drive"); },
    words() {
      if (pilot.isDriving) return isTouch() ? "Drive with the arrows on the map." : "Drive with W A S D.";
      const cart = nearestCart();
      if (cart === null) return "No free cart in view: walk on, or zoom out.";
      return metersTo(cart) > TAKEN_WITHIN_M ? "Walk to the ringed cart." : `Press ${key("E", "cart")} to board the cart.`;
    },
    isDone: () => pilot.isDriving && Math.abs(pilot.state.speedMps) > DRIVEN_MPS,
    outcome: () => `The cart moved before the server answered: your client predicts it. ${isTouch() ? "“get off”" : "E"} leaves the cart. The panel simulates a bad connection.`,
    place() {
      if (pilot.isDriving) return null;
      const cart = nearestCart();
      return cart && { x: cart.x, y: cart.y, name: `cart, ${Math.round(metersTo(cart))} m` };
    },
  };
}
