// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The peer of the scene `colyseus`: @colyseus/schema with one StateView per observer. Reads the workload from the
// given file. Each line of its input is a number of ticks to run; it answers with a line of JSON. Timed: encode,
// encodeView for all, discardChanges; and separately, changes of the views. Setting values is not timed.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';
import { createRequire } from 'node:module';

// NODE_PATH applies to require only.
const { schema, t, Encoder, Decoder, StateView } = createRequire(import.meta.url)('@colyseus/schema');

const file = readFileSync(process.argv[2]);
const words = new Uint32Array(file.buffer, file.byteOffset, file.byteLength / 4);
const floats = new Float32Array(file.buffer, file.byteOffset, file.byteLength / 4);
const [entityCount, observers, wanted, changed, churn, sixteenBits, ticks] = words;
let at = 7;
const firstAt = at;
at += entityCount * 3;
const listsAt = at;
at += observers * wanted;
const changesAt = at;
at += ticks * changed * 4;
const swapsAt = at;

const place = () => (sixteenBits ? t.quantized({ min: 0, max: 1000, bits: 16 }) : t.float32());
const makeState = (name) => {
  const Thing = schema({ x: place(), y: place(), hp: t.uint16() }, `Thing${name}`);
  const State = schema({ things: t.map(Thing).view() }, `State${name}`);
  return { Thing, State };
};

Encoder.BUFFER_SIZE = 8 * 1024 * 1024;
const { Thing, State } = makeState('Server');
const state = new State();
const encoder = new Encoder(state);
const things = [];
for (let i = 0; i < entityCount; ++i) {
  const thing = new Thing();
  thing.x = floats[firstAt + 3 * i];
  thing.y = floats[firstAt + 3 * i + 1];
  thing.hp = words[firstAt + 3 * i + 2];
  state.things.set(String(i), thing);
  things.push(thing);
}
const views = [];
const listed = [];
for (let o = 0; o < observers; ++o) {
  const view = new StateView();
  const list = new Set();
  for (let i = 0; i < wanted; ++i) {
    const e = words[listsAt + o * wanted + i];
    view.add(things[e]);
    list.add(e);
  }
  views.push(view);
  listed.push(list);
}
// Three observers decode everything that they are sent.
const decoders = [0, observers >> 1, observers - 1].map((o) => ({ o, decoder: new Decoder(new (makeState(`Client${o}`).State)()) }));
const decode = (o, bytes) => {
  for (const one of decoders) if (one.o === o) one.decoder.decode(bytes.slice());
};

function send() {
  const it = { offset: 0 };
  const begin = performance.now();
  encoder.encode(it);
  const shared = it.offset;
  let bytes = 0;
  let decoding = 0;
  for (let o = 0; o < observers; ++o) {
    it.offset = shared;
    const out = encoder.encodeView(views[o], shared, it);
    bytes += out.length;
    if (decoders.some((one) => one.o === o)) {
      const before = performance.now();
      decode(o, out);
      decoding += performance.now() - before;
    }
  }
  encoder.discardChanges();
  return { ms: performance.now() - begin - decoding, bytes };
}

// New clients receive the full state.
{
  const it = { offset: 0 };
  encoder.encodeAll(it);
  const shared = it.offset;
  for (let o = 0; o < observers; ++o) {
    it.offset = shared;
    const out = encoder.encodeAllView(views[o], shared, it);
    decode(o, out);
  }
  encoder.discardChanges();
  send();  // changes that the views had recorded
}

let tick = 0;
function step() {
  for (let i = 0; i < changed; ++i) {
    const c = changesAt + (tick * changed + i) * 4;
    const thing = things[words[c]];
    thing.x = floats[c + 1];
    thing.y = floats[c + 2];
    thing.hp = words[c + 3];
  }
  const begin = performance.now();
  for (let i = 0; i < observers * churn; ++i) {
    const s = swapsAt + (tick * observers * churn + i) * 2;
    const o = Math.floor(i / churn);
    views[o].remove(things[words[s]]);
    views[o].add(things[words[s + 1]]);
  }
  const viewMs = performance.now() - begin;
  for (let i = 0; i < observers * churn; ++i) {
    const s = swapsAt + (tick * observers * churn + i) * 2;
    const list = listed[Math.floor(i / churn)];
    list.delete(words[s]);
    list.add(words[s + 1]);
  }
  ++tick;
  return { ...send(), viewMs };
}

function check() {
  let values = 0;
  let wrong = 0;
  for (const { o, decoder } of decoders) {
    const held = decoder.state.things;
    if (held.size !== listed[o].size) ++wrong;
    for (const e of listed[o]) {
      const mine = held.get(String(e));
      values += 3;
      if (mine === undefined) {
        wrong += 3;
        continue;
      }
      for (const field of ['x', 'y', 'hp']) {
        const right = field === 'hp' || sixteenBits ? things[e][field] : Math.fround(things[e][field]);
        if (mine[field] !== right) ++wrong;
      }
    }
  }
  return { values, wrong };
}

console.log(JSON.stringify({ ready: true, node: process.version }));
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line);
  if (!Number.isInteger(count) || count <= 0) break;
  const ms = [];
  const viewMs = [];
  let bytes = 0;
  for (let i = 0; i < count; ++i) {
    const one = step();
    ms.push(one.ms);
    viewMs.push(one.viewMs);
    bytes += one.bytes;
  }
  console.log(JSON.stringify({ ms, viewMs, bytes: bytes / count / observers, ...check() }));
}
