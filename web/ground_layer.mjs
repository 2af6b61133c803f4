// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws the ground: grass, shores and water, and mist outside of the leave radius.
import { Program } from "./gl_program.mjs";
import { noiseTexels, waterTexels } from "./ground_texture.mjs";

const VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
uniform vec4 camera;
out vec2 meters;
void main() {
  meters = camera.xy + corner / camera.zw;
  gl_Position = vec4(corner, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec2 meters; out vec4 result;
uniform vec4 world;    // min x, y; max x, y
uniform float grain;   // meters of the fine noise
uniform vec4 clear;    // x, y, enter radius, leave radius; radius 0: no mist
uniform sampler2D water, noise;
uniform vec3 grass, meadow, sand, shallow, deep, outside;
uniform vec4 mist;
void main() {
  vec2 share = (meters - world.xy) / (world.zw - world.xy);
  float wet = texture(water, share).r;
  float broad = texture(noise, meters / (grain * 11.0)).r;
  float fine = texture(noise, meters / grain).g;
  vec3 color = mix(grass, meadow, smoothstep(0.3, 0.7, broad)) * (0.87 + 0.3 * fine);
  float shore = wet + (broad - 0.5) * 0.1;
  color = mix(color, sand * (0.9 + 0.2 * fine), smoothstep(0.16, 0.3, shore));
  vec3 sea = mix(shallow, deep, smoothstep(0.5, 0.95, shore)) * (0.95 + 0.1 * broad);
  color = mix(color, sea, smoothstep(0.38, 0.44, shore));
  color += 0.07 * smoothstep(0.42, 0.46, shore) * (1.0 - smoothstep(0.46, 0.52, shore));
  vec2 beyond = abs(share - 0.5);
  color = mix(color, outside, step(0.5, max(beyond.x, beyond.y)));
  if (clear.w > 0.0) color = mix(color, mist.rgb, mist.a * smoothstep(clear.z, clear.w, distance(meters, clear.xy)));
  result = vec4(color, 1.0);
}`;

export class GroundLayer {
  #gl;
  #program;
  #world = [0, 0, 1, 1];
  #grain = 30;
  #water = { width: 1, height: 1, texels: new Uint8Array(1) };
  #noise = noiseTexels();
  #textures = {};

  /** `world`: [min x, min y, max x, max y]. `grain`: meters after which the fine noise repeats. */
  setWorld(world, grain) { [this.#world, this.#grain] = [world, grain]; }

  /** `blocked`: a string of 0 and 1, row by row. */
  setBlocked(columns, rows, blocked) {
    this.#water = waterTexels(columns, rows, blocked);
    this.#upload();
  }

  /** Creates the WebGL objects. Call again after the context was lost. */
  setUp(gl) {
    this.#gl = gl;
    this.#program = new Program(gl, VERTEX, FRAGMENT);
    this.#program.use();
    gl.uniform1i(this.#program.at("water"), 0);
    gl.uniform1i(this.#program.at("noise"), 1);
    this.#upload();
  }

  #upload() {
    const gl = this.#gl;
    const { size, texels } = this.#noise;
    const water = this.#water;
    for (const old of Object.values(this.#textures)) gl.deleteTexture(old);
    this.#textures = {
      water: this.#texture(gl.R8, gl.RED, water.width, water.height, water.texels, gl.CLAMP_TO_EDGE, gl.LINEAR),
      noise: this.#texture(gl.RG8, gl.RG, size, size, texels, gl.REPEAT, gl.LINEAR_MIPMAP_LINEAR),
    };
  }

  #texture(kind, format, width, height, texels, wrap, filter) {
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, kind, width, height, 0, format, gl.UNSIGNED_BYTE, texels);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, wrap);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    if (filter === gl.LINEAR_MIPMAP_LINEAR) gl.generateMipmap(gl.TEXTURE_2D);
    return texture;
  }

  /** `quad`: a buffer with the corners. `clear`: {x, y, enter, leave} of the circle without mist, or null. */
  draw(quad, camera, palette, clear) {
    const gl = this.#gl;
    const program = this.#program;
    program.use();
    gl.uniform4f(program.at("camera"), ...camera);
    gl.uniform4f(program.at("world"), ...this.#world);
    gl.uniform1f(program.at("grain"), this.#grain);
    if (clear === null) gl.uniform4f(program.at("clear"), 0, 0, 0, 0);
    else gl.uniform4f(program.at("clear"), clear.x, clear.y, clear.enter, Math.max(clear.leave, clear.enter * 1.03));
    for (const name of ["grass", "meadow", "sand", "shallow", "deep", "outside"]) gl.uniform3f(program.at(name), ...palette[name]);
    gl.uniform4f(program.at("mist"), ...palette.mist);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.#textures.noise);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.#textures.water);
    gl.bindBuffer(gl.ARRAY_BUFFER, quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}
