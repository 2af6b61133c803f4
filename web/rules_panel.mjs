// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Editor of the current rules: cards, results of a dry run, and buttons. One line shows the effect on all clients;
// figures.mjs shows the effect on this client.
import { byId, counted, grouped, make, put } from "./dom.mjs";
import { NodeCard } from "./rule_card.mjs";

export class RulesPanel {
  #draft;
  #cards = new Map();
  #before = null;  // time and bytes of the previous ServerStats

  constructor(draft) {
    this.#draft = draft;
    byId("rules-try").addEventListener("click", () => draft.tryOut());
    byId("rules-apply").addEventListener("click", () => draft.apply());
    byId("rules-revert").addEventListener("click", () => draft.revert());
    byId("rules-theirs").addEventListener("click", () => draft.takeRunning());
    byId("rules-live").addEventListener("change", () => { draft.live = byId("rules-live").checked; });
    draft.onChange(() => this.#sync());
    this.#sync();
  }

  /** Shows totals over all clients. The rate is over the time since the previous ServerStats. null: not available. */
  showWorld(stats) {
    const before = this.#before;
    const now = this.#before = stats && { at: performance.now(), bytes: stats.bytes_sent };
    if (stats === null) return put(byId("rules-world"), "textContent", "");
    const pairs = stats.sessions.reduce((sum, session) => sum + session.relevant, 0);
    const rate = before && now.bytes >= before.bytes ? (now.bytes - before.bytes) / (now.at - before.at) : null;
    byId("rules-world").textContent =
      `${counted(stats.sessions.length, "client")}: ${counted(pairs, "relevant pair")}${rate === null ? "" : `, ${grouped(rate)} kB/s`}`;
  }

  #sync() {
    const draft = this.#draft;
    const off = draft.running === null;
    put(byId("rules-off"), "hidden", !off);
    put(byId("rules-help"), "hidden", off || draft.nodes.length === 0);
    put(byId("rules-none"), "hidden", off || draft.nodes.length > 0);
    for (const [node, card] of this.#cards) {
      if (draft.nodes.includes(node)) continue;
      card.element.remove();
      this.#cards.delete(node);
    }
    const list = byId("rules-cards");
    draft.nodes.forEach((node, i) => {
      if (!this.#cards.has(node)) this.#cards.set(node, new NodeCard(node, draft));
      const { element } = this.#cards.get(node);
      if (list.children[i] !== element) list.insertBefore(element, list.children[i] ?? null);
      this.#cards.get(node).sync(off);
    });
    this.#syncTexts();
    put(byId("rules-try"), "disabled", off);
    put(byId("rules-apply"), "disabled", off || draft.isReadOnly || !draft.isPending);
    put(byId("rules-revert"), "disabled", off || !draft.canRevert);
    put(byId("rules-live"), "disabled", off || draft.isReadOnly);
    const general = draft.error !== null && draft.error.step === null && draft.error.node === null;
    put(byId("rules-problem"), "hidden", !general);
    put(byId("rules-problem"), "textContent", general ? draft.error.text : "");
    put(byId("rules-elsewhere"), "hidden", draft.elsewhere === "");
    put(byId("rules-elsewhere-text"), "textContent", draft.elsewhere === "waiting"
      ? `Another operator set revision ${draft.running?.revision}. Apply would replace it.`
      : `Another operator set revision ${draft.running?.revision}, shown here.`);
    put(byId("rules-theirs"), "hidden", draft.elsewhere !== "waiting");
    this.#syncState();
    const warnings = (draft.trial ?? draft.running)?.warnings ?? [];
    const key = warnings.join("\n");
    if (byId("rules-warnings").dataset.key !== key) {
      byId("rules-warnings").dataset.key = key;
      byId("rules-warnings").replaceChildren(...warnings.map((text) => make("li", {}, text)));
    }
  }

  #syncState() {
    const draft = this.#draft;
    const state = byId("rules-state");
    put(state, "className", draft.error ? "state bad" : draft.isPending && !draft.isSending ? "state pending" : "state");
    if (draft.running === null) return put(state, "textContent", "");
    if (draft.trial !== null) {
      const { gains, losses, observers, evaluated, skipped = 0 } = draft.trial;
      const among = skipped === 0 ? "" : ` (${counted(evaluated, "client")} evaluated, ${grouped(skipped)} skipped)`;
      const isWhole = skipped === 0 && observers.reduce((sum, entry) => sum + entry.gains + entry.losses, 0) === gains + losses;
      const own = observers.find((entry) => entry.observer === draft.watched) ?? (isWhole ? { gains: 0, losses: 0 } : undefined);
      const mine = own === undefined ? "" : `; this client +${grouped(own.gains)} −${grouped(own.losses)}`;
      return put(state, "textContent", gains + losses === 0 ? "Would change nothing at present."
        : `Would gain ${grouped(gains)} and lose ${counted(losses, "relevant pair")}${mine}${among}.`);
    }
    put(state, "textContent", draft.error ? (draft.error.isAnswer ? "Refused: nothing was changed." : "No reply from the server.")
      : draft.isReadOnly ? "This server accepts no rules from operators; Try still works."
      : draft.isPending && !draft.isSending ? "Not applied yet." : `Revision ${draft.running.revision} is in force.`);
  }

  /** Fills the suggestions for step texts with the names of the world. */
  #syncTexts() {
    const names = this.#draft.running?.names;
    const list = byId("step-texts");
    const key = JSON.stringify(names ?? null);
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    const of = (words, list = []) => list.map((name) => words(/\s|'/.test(name) ? `'${name.replaceAll("'", "''")}'` : name));
    const whats = names === undefined ? [] : [
      "within 60 leave 66", ...of((key) => `same ${key}`, names.keys), ...of((flag) => `flag ${flag}`, names.flags),
      ...of((value) => `value ${value} from 0 to 10`, names.values), "owner", "neighborhood 50x50 rings 1", "hexagons 40 rings 1",
      ...(names.sight ? ["sight within 60"] : []), ...of((kernel) => `kernel ${kernel}`, names.kernels),
    ];
    list.replaceChildren(...["add", "require", "subtract"].flatMap((op) => whats.map((what) => make("option", { value: `${op} ${what}` }))));
  }
}
