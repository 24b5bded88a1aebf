"""A picture with text to the text, with PP-OCR's detector and recognizer: ocr.py WEFT MODELS PICTURE.png prints the lines."""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import png


def run(program: str, model: Path, x: np.ndarray) -> np.ndarray:
    """The result of a model of one input and one result, which must be ONNX Runtime's too (--compare)."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x.astype(np.float32))
        ran = subprocess.run([program, "onnx", model, "--input", f"x={folder}/x.npy", "--run", "--out", folder, "--compare"], capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"{model.name}: {ran.stdout} {ran.stderr}")
        print(ran.stdout.splitlines()[-1], file=sys.stderr)
        (found,) = (path for path in Path(folder).glob("*.npy") if path.name != "x.npy")
        return np.load(found)


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Bilinear, with the centres of pixels in place."""
    def places(count: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.clip((np.arange(count) + 0.5) * size / count - 0.5, 0, size - 1)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, size - 1), at - low
    y0, y1, fy = places(height, picture.shape[0])
    x0, x1, fx = places(width, picture.shape[1])
    rows = picture[y0] * (1 - fy)[:, None, None] + picture[y1] * fy[:, None, None]
    return rows[:, x0] * (1 - fx)[None, :, None] + rows[:, x1] * fx[None, :, None]


def boxes(likely: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Rectangles (top, bottom, left, right) around connected places, a little larger than they are, from top to bottom."""
    ink, out = likely > 0.3, []
    while ink.any():
        todo = [tuple(int(v) for v in np.argwhere(ink)[0])]
        seen = []
        ink[todo[0]] = False
        while todo:
            y, x = todo.pop()
            seen.append((y, x))
            for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= near[0] < ink.shape[0] and 0 <= near[1] < ink.shape[1] and ink[near]:
                    ink[near] = False
                    todo.append(near)
        ys, xs = np.array(seen).T
        height, width = int(np.ptp(ys)) + 1, int(np.ptp(xs)) + 1
        if height < 4 or width < 4:
            continue
        more = int(height * width * 1.6 / (2 * (height + width))) + 1  # The detector marks the middle of letters.
        out.append((max(int(ys.min()) - more, 0), int(ys.max()) + more, max(int(xs.min()) - more, 0), int(xs.max()) + more))
    return sorted(out)


def main() -> int:
    program, models, picture = sys.argv[1], Path(sys.argv[2]), png.read(Path(sys.argv[3]))[..., ::-1] / 255.0
    height, width = (-(-extent // 32) * 32 for extent in picture.shape[:2])
    x = (resized(picture, height, width) - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    likely = run(program, models / "ch_PP-OCRv4_det_infer.onnx", x.transpose(2, 0, 1)[None])[0, 0]
    likely = resized(likely[..., None], *picture.shape[:2])[..., 0]
    letters = ["", *(models / "ppocr_keys_v1.txt").read_text().splitlines(), " "]
    for top, bottom, left, right in boxes(likely):
        line = picture[top:bottom, left:right]
        line = resized(line, 48, max(int(48 * line.shape[1] / line.shape[0]), 16))
        best = run(program, models / "ch_PP-OCRv4_rec_infer.onnx", ((line - 0.5) / 0.5).transpose(2, 0, 1)[None])[0].argmax(-1)
        print("".join(letters[one] for i, one in enumerate(best) if one and (i == 0 or one != best[i - 1])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
