// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws sprites: one draw call per batch. A batch that did not change is not uploaded again.
import { Program } from "./gl_program.mjs";
import { CELLS_PER_ROW, FEET, SPRITES, spriteSheet } from "./sprites.mjs";

const FLOATS = 6;  // x, y, sprite, angle, tone, alpha
/** How a sprite is colored. */
export const TONE = { full: 0, pale: 1, hidden: 2 };

const VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
layout(location=1) in vec4 what;  // x, y, sprite, angle (or above 0.5: mirrored)
layout(location=2) in vec2 look;  // tone, alpha
uniform vec4 camera;
uniform vec2 size;                // meters per pixel, size of the least edges
uniform vec4 sprites[${SPRITES.length}];  // meters, least pixels, share above the position, turns
out vec2 uv; flat out vec2 how;
void main() {
  int number = int(what.z + 0.5);
  vec4 its = sprites[number];
  float edge = max(its.x, its.y * size.x * size.y);
  vec2 local = corner * 0.5;
  vec2 inside = local + 0.5;
  if (its.w > 0.5) {
    float c = cos(what.w), s = sin(what.w);
    local = mat2(c, s, -s, c) * local;
  } else {
    local.y += 0.5 - its.z;
    if (what.w > 0.5) inside.x = 1.0 - inside.x;
  }
  vec2 cell = vec2(number % ${CELLS_PER_ROW}, number / ${CELLS_PER_ROW});
  uv = (cell + inside) / vec2(${CELLS_PER_ROW}.0, ${Math.ceil(SPRITES.length / CELLS_PER_ROW)}.0);
  gl_Position = vec4((what.xy + local * edge - camera.xy) * camera.zw, 0.0, 1.0);
  how = look;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec2 uv; flat in vec2 how; out vec4 result;
uniform sampler2D sheet;
uniform vec3 light, paleLow, paleHigh, hidden;
uniform float paleAlpha;
void main() {
  vec4 color = texture(sheet, uv);  // multiplied with its alpha
  if (color.a < 0.01) discard;
  if (how.x < 0.5) {
    color.rgb *= light;
  } else {
    float bright = dot(color.rgb, vec3(0.3, 0.59, 0.11)) / color.a;
    vec3 pale = mix(paleLow, paleHigh, bright);
    if (how.x > 1.5) pale = mix(pale, hidden, 0.7);
    color = vec4(pale, 1.0) * color.a * min(1.0, how.x > 1.5 ? paleAlpha * 1.35 : paleAlpha);
  }
  result = color * how.y;
}`;

/** Sprites that are drawn with one call. */
export class SpriteBatch {
  count = 0;
  data = new Float32Array(256 * FLOATS);
  /** Changes with the contents. */
  version = 0;

  clear() {
    this.count = 0;
    ++this.version;
  }

  /** `angle`: in radians for a sprite that turns; 1 mirrors any other sprite. */
  add(x, y, sprite, angle = 0, tone = TONE.full, alpha = 1) {
    let at = this.count++ * FLOATS;
    if (at + FLOATS > this.data.length) {
      const more = new Float32Array(this.data.length * 2);
      more.set(this.data);
      this.data = more;
    }
    const { data } = this;
    data[at] = x;
    data[++at] = y;
    data[++at] = sprite;
    data[++at] = angle;
    data[++at] = tone;
    data[++at] = alpha;
  }
}

export class SpriteLayer {
  #gl;
  #program;
  #sheet;
  #buffers = new WeakMap();  // by batch: {buffer, version}

  /** Creates the WebGL objects. Call again after the context was lost. */
  setUp(gl) {
    this.#gl = gl;
    this.#program = new Program(gl, VERTEX, FRAGMENT);
    this.#buffers = new WeakMap();
    this.#program.use();
    gl.uniform4fv(this.#program.at("sprites"), SPRITES.flatMap(({ meters, pixels, turns }) => [meters, pixels, turns ? 0.5 : FEET, turns ? 1 : 0]));
    this.#sheet = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.#sheet);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, spriteSheet());
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
  }

  /** `quad`: a buffer with the corners. `size`: {pixel: meters per CSS pixel, least: factor of the least edges}. */
  draw(batch, quad, camera, size, palette) {
    const gl = this.#gl;
    const program = this.#program;
    program.use();
    gl.uniform4f(program.at("camera"), ...camera);
    gl.uniform2f(program.at("size"), size.pixel, size.least);
    for (const name of ["light", "paleLow", "paleHigh", "hidden"]) gl.uniform3f(program.at(name), ...palette[name]);
    gl.uniform1f(program.at("paleAlpha"), palette.paleAlpha);
    gl.bindTexture(gl.TEXTURE_2D, this.#sheet);
    gl.bindBuffer(gl.ARRAY_BUFFER, quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.#bind(batch);
    for (const [location, width, offset] of [[1, 4, 0], [2, 2, 16]]) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, width, gl.FLOAT, false, FLOATS * 4, offset);
      gl.vertexAttribDivisor(location, 1);
    }
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, batch.count);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    for (const location of [1, 2]) {
      gl.vertexAttribDivisor(location, 0);
      gl.disableVertexAttribArray(location);
    }
  }

  #bind(batch) {
    const gl = this.#gl;
    const known = this.#buffers.get(batch) ?? { buffer: gl.createBuffer(), version: -1 };
    gl.bindBuffer(gl.ARRAY_BUFFER, known.buffer);
    if (known.version !== batch.version) gl.bufferData(gl.ARRAY_BUFFER, batch.data.subarray(0, batch.count * FLOATS), gl.DYNAMIC_DRAW);
    this.#buffers.set(batch, { buffer: known.buffer, version: batch.version });
  }
}
