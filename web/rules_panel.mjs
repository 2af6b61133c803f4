// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rules that run, to be edited while they run: cards, what a dry run says, and the buttons. What
// the rules do is next to them (figures.mjs), and for everybody in one line.
import { byId, grouped, make, put } from "./dom.mjs";
import { NodeCard } from "./rule_card.mjs";

export class RulesPanel {
  #draft;
  #cards = new Map();
  #before = null;  // of the world, when it was told last

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

  /** Everybody's figures, from one ServerStats to the next; null: nobody tells them. */
  showWorld(stats) {
    const before = this.#before;
    const now = this.#before = stats && { at: performance.now(), bytes: stats.bytes_sent };
    if (stats === null) return put(byId("rules-world"), "textContent", "");
    const pairs = stats.sessions.reduce((sum, session) => sum + session.relevant, 0);
    const rate = before && now.bytes >= before.bytes ? (now.bytes - before.bytes) / (now.at - before.at) : null;
    byId("rules-world").textContent =
      `All ${stats.sessions.length} clients: ${grouped(pairs)} relevant${rate === null ? "" : `, ${grouped(rate)} kB/s`}`;
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
      ? `Somebody else set revision ${draft.running?.revision} meanwhile. Apply would replace it.`
      : `Somebody else set revision ${draft.running?.revision}: this is it.`);
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
      const { gains, losses, observers, asked, left_out: leftOut = 0 } = draft.trial;
      const among = leftOut === 0 ? "" : ` (of ${grouped(asked)} clients; ${grouped(leftOut)} more were not asked)`;
      const isWhole = leftOut === 0 && observers.reduce((sum, entry) => sum + entry.gains + entry.losses, 0) === gains + losses;
      const own = observers.find((entry) => entry.observer === draft.watched) ?? (isWhole ? { gains: 0, losses: 0 } : undefined);
      const mine = own === undefined ? "" : `; this client +${grouped(own.gains)} −${grouped(own.losses)}`;
      return put(state, "textContent", gains + losses === 0 ? "Would change nothing for anybody now."
        : `Would gain ${grouped(gains)} and lose ${grouped(losses)} pairs${mine}${among}.`);
    }
    put(state, "textContent", draft.error ? (draft.error.isAnswer ? "Refused: nothing was changed." : "No answer came.")
      : draft.isReadOnly ? "This server takes no rules from operators; Try still works."
      : draft.isPending && !draft.isSending ? "Not applied yet." : `Revision ${draft.running.revision} is running.`);
  }

  /** What a text may be, from the names that the world has. */
  #syncTexts() {
    const names = this.#draft.running?.names;
    const list = byId("step-texts");
    const key = JSON.stringify(names ?? null);
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    const of = (words, list = []) => list.map((name) => words(/\s|'/.test(name) ? `'${name.replaceAll("'", "''")}'` : name));
    const whats = names === undefined ? [] : [
      "within 60 leave 66", ...of((key) => `same ${key}`, names.keys), ...of((flag) => `flag ${flag}`, names.flags),
      ...of((value) => `value ${value} from 0 to 10`, names.values), "owner", "neighbourhood 50x50 rings 1", "hexagons 40 rings 1",
      ...(names.sight ? ["sight within 60"] : []), ...of((kernel) => `kernel ${kernel}`, names.kernels),
    ];
    list.replaceChildren(...["add", "require", "subtract"].flatMap((op) => whats.map((what) => make("option", { value: `${op} ${what}` }))));
  }
}
