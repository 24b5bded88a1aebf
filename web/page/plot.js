// A curve on a canvas.

/** Draws losses by step, with a scale from 0 to `top`. */
export function drawLoss(canvas, losses, { top = 0.8, steps = 200 } = {}) {
  const draw = canvas.getContext('2d'), figure = canvas.closest('figure');
  const line = getComputedStyle(figure).borderTopColor, quiet = getComputedStyle(figure.querySelector('figcaption')).color;
  const accent = getComputedStyle(document.querySelector('[role="tab"][aria-selected="true"]')).borderBottomColor;
  const { width, height } = canvas, left = 44, bottom = 26, all = Math.max(steps, losses.length);
  draw.clearRect(0, 0, width, height);
  draw.font = '14px system-ui';
  draw.strokeStyle = line;
  draw.fillStyle = quiet;
  for (let i = 0; i <= 4; ++i) {
    const y = 8 + (height - bottom - 8) * (1 - i / 4);
    draw.beginPath();
    draw.moveTo(left, y);
    draw.lineTo(width, y);
    draw.stroke();
    draw.fillText((top * i / 4).toFixed(1), 12, y + 5);
  }
  draw.fillText(`loss by step (${losses.length})`, left, height - 6);
  draw.strokeStyle = accent;
  draw.lineWidth = 2.5;
  draw.beginPath();
  losses.forEach((loss, i) => {
    const px = left + (width - left) * (i / all), py = 8 + (height - bottom - 8) * (1 - Math.min(loss, top) / top);
    if (i === 0) draw.moveTo(px, py);
    else draw.lineTo(px, py);
  });
  draw.stroke();
  draw.lineWidth = 1;
}
