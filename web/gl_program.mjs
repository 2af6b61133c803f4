// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A linked WebGL2 program that looks up each uniform once.

export class Program {
  #gl;
  #program;
  #locations = new Map();

  /** Throws with the compiler's log if a shader is invalid. */
  constructor(gl, vertex, fragment) {
    this.#gl = gl;
    this.#program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(this.#program, shader);
    }
    gl.linkProgram(this.#program);
    if (!gl.getProgramParameter(this.#program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(this.#program));
  }

  use() { this.#gl.useProgram(this.#program); }

  /** The location of a uniform. */
  at(name) {
    if (!this.#locations.has(name)) this.#locations.set(name, this.#gl.getUniformLocation(this.#program, name));
    return this.#locations.get(name);
  }
}
