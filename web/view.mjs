// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws a world from above: ground, sprites, and marks (circles, lines, rings). Independent of clients and networks.
// Plain WebGL2.
import { Program } from "./gl_program.mjs";
import { GroundLayer } from "./ground_layer.mjs";
import { DAY } from "./palette.mjs";
import { SpriteLayer } from "./sprite_layer.mjs";

const INSTANCE_FLOATS = 8; // x, y, size in meters, shape, r, g, b, a
const CIRCLE_SIDES = 128;
const DASHES_MAX = 400;
const HALF_HEIGHT_MIN = 2;
const HALF_HEIGHT_MAX = 2000;
/** Half height of the view up to which the minimum size of sprites applies. In a larger view, the minimum shrinks. */
const LEAST_UNTIL_M = 170;
export const SHAPE = { disc: 0, square: 1, triangle: 2, diamond: 3, ring: 4 };

const MARK_VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
layout(location=1) in vec2 at;
layout(location=2) in vec2 sizeShape;
layout(location=3) in vec4 color;
uniform vec4 camera; // center x, y; scale x, y
uniform float minSize;
out vec2 uv; flat out float shape; out vec4 tint;
void main() {
  float size = max(sizeShape.x, minSize);
  gl_Position = vec4((at + corner * size - camera.xy) * camera.zw, 0.0, 1.0);
  uv = corner; shape = sizeShape.y; tint = color;
}`;

const MARK_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 uv; flat in float shape; in vec4 tint; out vec4 result;
void main() {
  float d;
  if (shape < 0.5) d = length(uv) - 0.9;
  else if (shape < 1.5) d = max(abs(uv.x), abs(uv.y)) - 0.75;
  else if (shape < 2.5) d = max(abs(uv.x) * 0.87 - uv.y * 0.5, uv.y) - 0.55;
  else if (shape < 3.5) d = abs(uv.x) + abs(uv.y) - 0.9;
  else d = abs(length(uv) - 0.78) - 0.12;
  float edge = fwidth(d);
  float alpha = 1.0 - smoothstep(-edge, edge, d);
  if (alpha <= 0.0) discard;
  result = vec4(tint.rgb, tint.a * alpha);
}`;

const LINE_VERTEX = `#version 300 es
layout(location=0) in vec2 at;
uniform vec4 camera;
void main() { gl_Position = vec4((at - camera.xy) * camera.zw, 0.0, 1.0); }`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 color; out vec4 result;
void main() { result = color; }`;

export class View {
  /** The layer being drawn: "ground", "truth", "ghosts", "circles", "lines", "marker", "why", "shots", "tour". */
  pass = "";
  center = { x: 0, y: 0 };
  palette = DAY;
  #halfHeight = 90;
  #gl;
  #marks;
  #flat;
  #quad;
  #instances;
  #lines;
  #ground = new GroundLayer();
  #sprites = new SpriteLayer();
  #data = new Float32Array(16 * INSTANCE_FLOATS);

  constructor(canvas) {
    this.canvas = canvas;
    this.#gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (this.#gl === null) throw new Error("this page needs WebGL2");
    this.#setUp();
    // The browser may discard the context; preventDefault allows it to be restored, empty.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.#setUp());
  }

  /** Creates all objects of the context that persist between frames. */
  #setUp() {
    const gl = this.#gl;
    this.#marks = new Program(gl, MARK_VERTEX, MARK_FRAGMENT);
    this.#flat = new Program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.#quad = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#quad);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
    this.#instances = gl.createBuffer();
    this.#lines = gl.createBuffer();
    this.#ground.setUp(gl);
    this.#sprites.setUp(gl);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** `world`: [min x, min y, max x, max y]. `grain`: meters after which the pattern of the ground repeats. */
  setWorld(world, grain) { this.#ground.setWorld(world, grain); }

  /** `blocked`: a string of 0 and 1, row by row. */
  setBlocked(width, height, blocked) { this.#ground.setBlocked(width, height, blocked); }

  /** Meters from the center to the upper edge. */
  get halfHeight() { return this.#halfHeight; }
  set halfHeight(meters) { this.#halfHeight = Math.min(HALF_HEIGHT_MAX, Math.max(HALF_HEIGHT_MIN, meters)); }

  /** Draws the ground. `clear`: {x, y, enter, leave} of the circle without mist; null: no mist at all. */
  begin(clear = null) {
    const gl = this.#gl;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.canvas.clientWidth * ratio), Math.round(this.canvas.clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    this.pass = "ground";
    this.#ground.draw(this.#quad, this.#camera, this.palette, clear);
  }

  /** Meters from the center to the right edge. */
  get halfWidth() { return this.halfHeight * this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight); }

  /** World position at a point of the canvas, in CSS pixels. */
  placeAt(x, y) {
    return {
      x: this.center.x + (x / this.canvas.clientWidth * 2 - 1) * this.halfWidth,
      y: this.center.y + (y / this.canvas.clientHeight * 2 - 1) * this.halfHeight,
    };
  }

  /** Canvas position of a world position, in CSS pixels. */
  pointOf({ x, y }) {
    return {
      x: ((x - this.center.x) / this.halfWidth + 1) / 2 * this.canvas.clientWidth,
      y: ((y - this.center.y) / this.halfHeight + 1) / 2 * this.canvas.clientHeight,
    };
  }

  /** Meters per CSS pixel. */
  get pixel() { return 2 * this.halfHeight / Math.max(1, this.canvas.clientHeight); }

  /** Size of a mark in meters, limited so that it is visible in a large view and small in a small one. */
  markSize(meters, share) { return Math.max(Math.min(meters, this.halfHeight / 5), this.halfHeight / share); }

  /** Draws the sprites of a SpriteBatch with one call; returns their number. */
  drawSprites(pass, batch) {
    this.pass = pass;
    const least = Math.min(1, LEAST_UNTIL_M / this.halfHeight);
    this.#sprites.draw(batch, this.#quad, this.#camera, { pixel: this.pixel, least }, this.palette);
    return batch.count;
  }

  /** `fill(write)` must call write(x, y, size, shape, r, g, b, a) once per mark, at most `capacity` times. */
  drawMarks(pass, capacity, fill) {
    const gl = this.#gl;
    if (this.#data.length < capacity * INSTANCE_FLOATS) this.#data = new Float32Array(capacity * 2 * INSTANCE_FLOATS);
    let count = 0;
    const data = this.#data;
    fill((x, y, size, shape, r, g, b, a) => {
      data.set([x, y, size, shape, r, g, b, a], INSTANCE_FLOATS * count++);
    });
    this.pass = pass;
    this.#use(this.#marks);
    gl.uniform1f(this.#marks.at("minSize"), this.halfHeight / 260);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#instances);
    gl.bufferData(gl.ARRAY_BUFFER, data.subarray(0, count * INSTANCE_FLOATS), gl.DYNAMIC_DRAW);
    const layout = [[1, 2, 0], [2, 2, 8], [3, 4, 16]];
    for (const [location, size, offset] of layout) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, INSTANCE_FLOATS * 4, offset);
      gl.vertexAttribDivisor(location, 1);
    }
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    for (const [location] of layout) {
      gl.vertexAttribDivisor(location, 0);
      gl.disableVertexAttribArray(location);
    }
  }

  /** `width` and `dash` in CSS pixels; dash 0: solid. */
  drawCircle(x, y, radius, color, width = 1, dash = 0) {
    const half = width * this.pixel / 2;
    const dashes = dash > 0 ? Math.min(DASHES_MAX, Math.max(8, Math.round(Math.PI * radius / (dash * this.pixel)))) : CIRCLE_SIDES;
    const share = dash > 0 ? 0.5 : 1;
    const points = [];
    for (let i = 0; i < dashes; ++i) {
      const corner = (at, r) => [x + Math.cos(2 * at / dashes * Math.PI) * r, y + Math.sin(2 * at / dashes * Math.PI) * r];
      const [a, b] = [corner(i, radius - half), corner(i, radius + half)];
      const [c, d] = [corner(i + share, radius - half), corner(i + share, radius + half)];
      points.push(...a, ...b, ...c, ...c, ...b, ...d);
    }
    this.pass = "circles";
    this.#drawFlat(points, color);
  }

  /** `width` and `dash` in CSS pixels; dash 0: solid. */
  drawLine(from, to, width, color, dash = 0, pass = "lines") {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy);
    if (length === 0) return;
    const [nx, ny] = [-dy / length * width * this.pixel / 2, dx / length * width * this.pixel / 2];
    const pieces = dash > 0 ? Math.min(DASHES_MAX, Math.max(1, Math.round(length / (2 * dash * this.pixel)))) : 0.5;
    const points = [];
    for (let i = 0; i < pieces; ++i) {
      const [a, b] = [i / pieces, (i + 0.5) / pieces];
      const corner = (share, side) => [from.x + dx * share + side * nx, from.y + dy * share + side * ny];
      points.push(...corner(a, -1), ...corner(a, 1), ...corner(b, -1), ...corner(b, -1), ...corner(a, 1), ...corner(b, 1));
    }
    this.pass = pass;
    this.#drawFlat(points, color);
  }

  #drawFlat(points, color) {
    const gl = this.#gl;
    this.#use(this.#flat);
    gl.uniform4f(this.#flat.at("color"), ...color);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#lines);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLES, 0, points.length / 2);
  }

  /** y grows downwards, as in the map. */
  get #camera() { return [this.center.x, this.center.y, 1 / this.halfWidth, -1 / this.halfHeight]; }

  #use(program) {
    program.use();
    this.#gl.uniform4f(program.at("camera"), ...this.#camera);
  }
}
