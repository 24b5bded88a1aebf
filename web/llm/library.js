// The imports of web/llm/door.cpp, which hand on what the module was given: an emscripten library (--js-library).
addToLibrary({
  weft_llm_js_piece(text, size) { Module['onPiece']?.(HEAPU8.slice(text, text + size)); },
  weft_llm_js_progress(part) { return Module['onProgress']?.(part) === false ? 0 : 1; },
});
