// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The drawing functions of all sprites. `pen`: a CanvasRenderingContext2D.

/** An ellipse; `edge` and `width`: its outline, if any. */
export function blob(pen, x, y, rx, ry, fill, edge = "", width = 0) {
  pen.beginPath();
  pen.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
  paint(pen, fill, edge, width);
}

/** A polygon with rounded corners. */
export function shape(pen, points, fill, edge = "", width = 0) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  pen.closePath();
  pen.lineJoin = "round";
  paint(pen, fill, edge, width);
}

/** A line through points. */
export function stroke(pen, points, width, color) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  pen.lineCap = pen.lineJoin = "round";
  pen.lineWidth = width;
  pen.strokeStyle = color;
  pen.stroke();
}

/** A soft shadow on the ground. */
export function shadow(pen, x, y, rx, ry) {
  pen.save();
  pen.translate(x, y);
  pen.scale(1, ry / rx);
  const soft = pen.createRadialGradient(0, 0, rx * 0.3, 0, 0, rx * 1.25);
  soft.addColorStop(0, "#0a1a1090");
  soft.addColorStop(1, "#0a1a1000");
  pen.fillStyle = soft;
  pen.fillRect(-rx * 1.3, -rx * 1.3, rx * 2.6, rx * 2.6);
  pen.restore();
}

function paint(pen, fill, edge, width) {
  if (width > 0) {  // the outline lies outside of the filled part
    pen.lineWidth = width * 2;
    pen.strokeStyle = edge;
    pen.lineJoin = "round";
    pen.stroke();
  }
  pen.fillStyle = fill;
  pen.fill();
}
