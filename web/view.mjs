// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws a world seen from above: the ground, circles, lines, and instances (one draw call a layer). Knows
// nothing of clients or networks. Plain WebGL2.

const INSTANCE_FLOATS = 8; // x, y, size in metres, shape, r, g, b, a
const CIRCLE_SIDES = 128;   // taste
const DASHES_MAX = 400;
export const SHAPE = { disc: 0, square: 1, triangle: 2, diamond: 3, ring: 4 };

const INSTANCE_VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
layout(location=1) in vec2 at;
layout(location=2) in vec2 sizeShape;
layout(location=3) in vec4 color;
uniform vec4 camera; // centre x, y; scale x, y
uniform float minSize;
out vec2 uv; flat out float shape; out vec4 tint;
void main() {
  float size = max(sizeShape.x, minSize);
  gl_Position = vec4((at + corner * size - camera.xy) * camera.zw, 0.0, 1.0);
  uv = corner; shape = sizeShape.y; tint = color;
}`;

const INSTANCE_FRAGMENT = `#version 300 es
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

const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
uniform vec4 camera; uniform vec4 rect; // min x, y; max x, y
out vec2 uv; out vec2 metres;
void main() {
  vec2 unit = corner * 0.5 + 0.5;
  metres = mix(rect.xy, rect.zw, unit);
  gl_Position = vec4((metres - camera.xy) * camera.zw, 0.0, 1.0);
  uv = unit;
}`;

const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 uv; in vec2 metres; uniform sampler2D ground; out vec4 result;
float line(float spacing) {  // a grid, so that one sees oneself move
  vec2 d = abs(fract(metres / spacing + 0.5) - 0.5) * spacing / fwidth(metres);
  return 1.0 - min(1.0, min(d.x, d.y));
}
void main() {
  float blocked = texture(ground, uv).r;
  vec3 color = mix(vec3(0.078, 0.122, 0.108), vec3(0.085, 0.175, 0.25), smoothstep(0.35, 0.65, blocked));
  color += vec3(0.022) * line(20.0) + vec3(0.028) * line(100.0);
  result = vec4(color, 1.0);
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
  /** Which layer is being drawn: "ground", "truth", "ghosts", "circles", "lines", "marker", "why". */
  pass = "";
  centre = { x: 0, y: 0 };
  /** Metres from the middle to the upper edge. */
  halfHeight = 90;
  #gl;
  #programs = {};
  #quad;
  #instances;
  #lines;
  #ground = null;
  #data = new Float32Array(1024 * INSTANCE_FLOATS);

  constructor(canvas) {
    this.canvas = canvas;
    this.#gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (this.#gl === null) throw new Error("this page needs WebGL2");
    this.#setUp();
    // The browser may take the context away; whoever holds on to it gets it back, empty.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.#setUp());
  }

  /** All that the context holds from frame to frame. */
  #setUp() {
    const gl = this.#gl;
    this.#programs.instances = this.#program(INSTANCE_VERTEX, INSTANCE_FRAGMENT);
    this.#programs.ground = this.#program(GROUND_VERTEX, GROUND_FRAGMENT);
    this.#programs.lines = this.#program(LINE_VERTEX, LINE_FRAGMENT);
    this.#quad = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#quad);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
    this.#instances = gl.createBuffer();
    this.#lines = gl.createBuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    if (this.#ground !== null) this.#setUpGround();
  }

  /** `blocked`: a string of 0 and 1, row by row. */
  setGround(rect, width, height, blocked) {
    this.#ground = { rect, width, height, texels: Uint8Array.from(blocked, (c) => (c === "1" ? 255 : 0)), texture: null };
    this.#setUpGround();
  }

  #setUpGround() {
    const gl = this.#gl;
    const { width, height, texels } = this.#ground;
    this.#ground.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.#ground.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, width, height, 0, gl.RED, gl.UNSIGNED_BYTE, texels);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  }

  begin() {
    const gl = this.#gl;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.canvas.clientWidth * ratio), Math.round(this.canvas.clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0.045, 0.065, 0.075, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.#ground === null) return;
    this.pass = "ground";
    const program = this.#use("ground");
    gl.uniform4f(gl.getUniformLocation(program, "rect"), ...this.#ground.rect);
    gl.bindTexture(gl.TEXTURE_2D, this.#ground.texture);
    this.#bindQuad();
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** Metres from the middle to the right edge. */
  get halfWidth() { return this.halfHeight * this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight); }

  /** World place under a point of the canvas, in CSS pixels. */
  placeAt(x, y) {
    return {
      x: this.centre.x + (x / this.canvas.clientWidth * 2 - 1) * this.halfWidth,
      y: this.centre.y + (y / this.canvas.clientHeight * 2 - 1) * this.halfHeight,
    };
  }

  /** Where on the canvas a place of the world is, in CSS pixels. */
  pointOf({ x, y }) {
    return {
      x: ((x - this.centre.x) / this.halfWidth + 1) / 2 * this.canvas.clientWidth,
      y: ((y - this.centre.y) / this.halfHeight + 1) / 2 * this.canvas.clientHeight,
    };
  }

  /** Metres that one CSS pixel spans. */
  get pixel() { return 2 * this.halfHeight / Math.max(1, this.canvas.clientHeight); }

  /** A size for a mark: so many metres, but visible in a large view and small in a small one. */
  markSize(metres, share) { return Math.max(Math.min(metres, this.halfHeight / 5), this.halfHeight / share); }

  /** `fill(write)` calls write(x, y, size, shape, r, g, b, a) once for each instance. */
  drawInstances(pass, capacity, fill) {
    const gl = this.#gl;
    if (this.#data.length < capacity * INSTANCE_FLOATS) this.#data = new Float32Array(capacity * 2 * INSTANCE_FLOATS);
    let count = 0;
    const data = this.#data;
    fill((x, y, size, shape, r, g, b, a) => {
      data.set([x, y, size, shape, r, g, b, a], INSTANCE_FLOATS * count++);
    });
    this.pass = pass;
    const program = this.#use("instances");
    gl.uniform1f(gl.getUniformLocation(program, "minSize"), this.halfHeight / 260);
    this.#bindQuad();
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
    return count;
  }

  /** `width` in CSS pixels. */
  drawCircle(x, y, radius, color, width = 1) {
    const half = width * this.pixel / 2;
    const points = [];
    for (let i = 0; i <= CIRCLE_SIDES; ++i) {
      const [c, s] = [Math.cos(2 * i / CIRCLE_SIDES * Math.PI), Math.sin(2 * i / CIRCLE_SIDES * Math.PI)];
      points.push(x + c * (radius - half), y + s * (radius - half), x + c * (radius + half), y + s * (radius + half));
    }
    this.pass = "circles";
    this.#drawFlat(this.#gl.TRIANGLE_STRIP, points, color);
  }

  /** `width` and `dash` in CSS pixels; dash 0: drawn through. */
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
    this.#drawFlat(this.#gl.TRIANGLES, points, color);
  }

  #drawFlat(mode, points, color) {
    const gl = this.#gl;
    const program = this.#use("lines");
    gl.uniform4f(gl.getUniformLocation(program, "color"), ...color);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#lines);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(mode, 0, points.length / 2);
  }

  #use(name) {
    const gl = this.#gl;
    const program = this.#programs[name];
    gl.useProgram(program);
    // y grows downwards, as in the map.
    gl.uniform4f(gl.getUniformLocation(program, "camera"), this.centre.x, this.centre.y,
                 1 / this.halfWidth, -1 / this.halfHeight);
    return program;
  }

  #bindQuad() {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  }

  #program(vertex, fragment) {
    const gl = this.#gl;
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }
}
