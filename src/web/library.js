// The imports of src/web/imports.h: the browser's WebGPU objects by number. An emscripten library (--js-library).
//
// Nothing here may throw into the program: WebGPU reports nearly everything through error scopes and promises, and the
// few calls that can throw become an event of the device.
addToLibrary({
  $weftGpu: {
    objects: [null],
    unused: [],
    futures: new Map(),
    events: new Map(),
    offsets: undefined,
    put(object) {
      const id = weftGpu.unused.pop() ?? weftGpu.objects.length;
      weftGpu.objects[id] = object;
      return id;
    },
    // Copies a text to the program, as much of it as there is room for; gives its whole length.
    give(text, to, room) {
      const bytes = new TextEncoder().encode(text);
      if (to) HEAPU8.set(bytes.subarray(0, room), to);
      return bytes.length;
    },
    // Ties a promise to a future; `take` makes the answer (an object's number or a status) from what it resolves to.
    start(future, promise, take) {
      const state = { ready: false, value: 0, text: '' };
      if (future) weftGpu.futures.set(future, state);
      state.promise = Promise.resolve(promise)
        .then(result => { state.value = take(result, state); }, error => { state.text = String(error?.message ?? error); })
        .then(() => { state.ready = true; });
    },
    errorType(error) {
      return { GPUValidationError: 2, GPUOutOfMemoryError: 3 }[error.constructor.name] ?? 4;
    },
    // Runs a call that may throw; what it throws becomes an error of the device.
    guard(device, call) {
      try {
        return call();
      } catch (error) {
        const memory = error instanceof RangeError;
        weftGpu.events.get(device)?.push([memory ? 3 : 4, String(error?.message ?? error)]);
        return 0;
      }
    },
    software(info) {
      return info.isFallbackAdapter === true || /llvmpipe|swiftshader/i.test(`${info.device} ${info.description} ${info.architecture}`);
    },
    limits: ['maxBufferSize', 'maxStorageBufferBindingSize', 'maxUniformBufferBindingSize',
      'minStorageBufferOffsetAlignment', 'minUniformBufferOffsetAlignment', 'maxStorageBuffersPerShaderStage',
      'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX',
      'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ', 'maxComputeWorkgroupsPerDimension'],
  },
  $weftGpu__deps: ['$UTF8ToString', '$stringToUTF8'],

  weft_js_free__deps: ['$weftGpu'],
  weft_js_free(id) {
    if (!id) return;
    weftGpu.events.delete(id);
    weftGpu.objects[id] = null;
    weftGpu.unused.push(id);
  },
  weft_js_destroy(id) { weftGpu.objects[id].destroy(); },

  weft_js_wait__async: true,
  weft_js_wait: async function(future) { await weftGpu.futures.get(future)?.promise; },
  weft_js_ready(future) { return weftGpu.futures.get(future)?.ready ? 1 : 0; },
  weft_js_answer(future) { return weftGpu.futures.get(future)?.value ?? 0; },
  weft_js_answer_text(future, to, room) { return weftGpu.give(weftGpu.futures.get(future)?.text ?? '', to, room); },
  weft_js_forget(future) { weftGpu.futures.delete(future); },
  weft_js_event(device, to, room) {
    const event = weftGpu.events.get(device)?.shift();
    if (!event) return 0;
    stringToUTF8(event[1], to, room);
    return event[0];
  },

  weft_js_request_adapter(future, lowPower) {
    const gpu = Module['gpu'] ?? globalThis.navigator?.gpu;
    // The one that was asked for while the program was being loaded. It gives one device.
    const early = lowPower ? undefined : Module['adapter'];
    if (early) delete Module['adapter'];
    const request = early ?? (gpu ? gpu.requestAdapter({ powerPreference: lowPower ? 'low-power' : 'high-performance' })
      : Promise.reject(new Error('there is no navigator.gpu. Pages have it in a browser with WebGPU, served by https or from localhost; in Node, hand over the `gpu` of a binding.')));
    weftGpu.start(future, request, (adapter, state) => {
      if (adapter) return weftGpu.put(adapter);
      state.text = 'the browser has WebGPU, but no adapter that it would let a page use.';
      return 0;
    });
  },
  weft_js_adapter_has(adapter, name) { return weftGpu.objects[adapter].features.has(UTF8ToString(name)) ? 1 : 0; },
  weft_js_adapter_limit(adapter, name) { return Number(weftGpu.objects[adapter].limits[UTF8ToString(name)] ?? 0); },
  weft_js_adapter_text(adapter, name, to, room) {
    const info = weftGpu.objects[adapter].info, key = UTF8ToString(name);
    // Browsers mostly keep the name of a device to themselves.
    const text = info[key] || (key === 'device' ? info.description || `${info.vendor} ${info.architecture}`.trim() : '');
    return weftGpu.give(text, to, room);
  },
  weft_js_adapter_number(adapter, name) {
    const info = weftGpu.objects[adapter].info, key = UTF8ToString(name);
    return key === 'isFallbackAdapter' ? Number(weftGpu.software(info)) : Number(info[key] ?? 0);
  },
  weft_js_adapter_matrix(adapter, index, to) {
    const config = weftGpu.objects[adapter].info.subgroupMatrixConfigs?.[index];
    if (!config) return 0;
    const types = ['', 'f32', 'f16', 'u32', 'i32', 'u8', 'i8'];
    HEAP32.set([types.indexOf(config.componentType), types.indexOf(config.resultComponentType), config.M, config.N, config.K], to >> 2);
    return 1;
  },
  weft_js_request_device(adapter, future, features, label, labelSize) {
    const from = weftGpu.objects[adapter];
    const requiredLimits = Object.fromEntries(weftGpu.limits.map(name => [name, from.limits[name]]));
    const requiredFeatures = UTF8ToString(features).split(',').filter(Boolean);
    const request = from.requestDevice({ label: UTF8ToString(label, labelSize), requiredFeatures, requiredLimits });
    weftGpu.start(future, request, device => {
      const id = weftGpu.put(device), events = [];
      weftGpu.events.set(id, events);
      device.lost.then(info => events.push([1, info.message || info.reason || 'the browser gives no reason']));
      device.onuncapturederror = ({ error }) => { events.push([weftGpu.errorType(error), error.message]); };
      Module['onDevice']?.(device);
      return id;
    });
  },

  weft_js_queue(device) { return weftGpu.put(weftGpu.objects[device].queue); },
  weft_js_buffer(device, size, usage, label, labelSize) {
    const from = weftGpu.objects[device], made = bytes => weftGpu.put(from.createBuffer({ size: bytes, usage, label: UTF8ToString(label, labelSize) }));
    // What cannot be had is an event, and a small one takes its place: calls with it are errors of the device, and none throws.
    return weftGpu.guard(device, () => made(size)) || made(4);
  },
  weft_js_query_set(device, count) { return weftGpu.put(weftGpu.objects[device].createQuerySet({ type: 'timestamp', count })); },
  weft_js_group_layout(device, rows, count) {
    const entries = [];
    for (let i = 0, at = rows >> 2; i < count; ++i, at += 4) {
      const type = { 2: 'uniform', 3: 'storage', 4: 'read-only-storage' }[HEAP32[at + 1]];
      entries.push({ binding: HEAP32[at], visibility: 4, buffer: { type, hasDynamicOffset: HEAP32[at + 2] !== 0, minBindingSize: HEAP32[at + 3] } });
    }
    return weftGpu.put(weftGpu.objects[device].createBindGroupLayout({ entries }));
  },
  weft_js_pipeline_layout(device, layouts, count) {
    const bindGroupLayouts = Array.from(HEAP32.subarray(layouts >> 2, (layouts >> 2) + count), id => weftGpu.objects[id]);
    return weftGpu.put(weftGpu.objects[device].createPipelineLayout({ bindGroupLayouts }));
  },
  weft_js_bind_group(device, layout, rows, count) {
    const entries = [];
    for (let i = 0, at = rows >> 3; i < count; ++i, at += 4) {
      entries.push({ binding: HEAPF64[at], resource: { buffer: weftGpu.objects[HEAPF64[at + 1]], offset: HEAPF64[at + 2], size: HEAPF64[at + 3] } });
    }
    return weftGpu.put(weftGpu.objects[device].createBindGroup({ layout: weftGpu.objects[layout], entries }));
  },
  weft_js_module(device, code, codeSize, label, labelSize) {
    return weftGpu.put(weftGpu.objects[device].createShaderModule({ code: UTF8ToString(code, codeSize), label: UTF8ToString(label, labelSize) }));
  },
  weft_js_module_info(module, future) {
    const types = { error: 1, warning: 2, info: 3 };
    weftGpu.start(future, weftGpu.objects[module].getCompilationInfo(), (info, state) => {
      state.text = info.messages.map(m => `${types[m.type]} ${m.lineNum} ${m.linePos} ${m.message}`).join('\x01');
      return 1;
    });
  },
  weft_js_pipeline(device, future, layout, module, entry, entrySize, constants, label, labelSize) {
    const values = {};
    for (const pair of UTF8ToString(constants).split(';')) {
      const equals = pair.lastIndexOf('=');
      if (equals > 0) values[pair.slice(0, equals)] = Number(pair.slice(equals + 1));
    }
    weftGpu.start(future, weftGpu.objects[device].createComputePipelineAsync({
      label: UTF8ToString(label, labelSize),
      layout: weftGpu.objects[layout],
      compute: { module: weftGpu.objects[module], entryPoint: UTF8ToString(entry, entrySize), constants: values },
    }), pipeline => weftGpu.put(pipeline));
  },
  weft_js_push_scope(device, filter) {
    weftGpu.objects[device].pushErrorScope({ 1: 'validation', 2: 'out-of-memory', 3: 'internal' }[filter]);
  },
  weft_js_pop_scope(device, future) {
    weftGpu.start(future, weftGpu.objects[device].popErrorScope(), (error, state) => {
      state.text = error?.message ?? '';
      return error ? weftGpu.errorType(error) : 1;
    });
  },

  weft_js_encoder(device) { return weftGpu.put(weftGpu.objects[device].createCommandEncoder()); },
  weft_js_pass(encoder, queries, first, last) {
    const timestampWrites = queries
      ? { querySet: weftGpu.objects[queries], beginningOfPassWriteIndex: first, endOfPassWriteIndex: last } : undefined;
    return weftGpu.put(weftGpu.objects[encoder].beginComputePass(timestampWrites ? { timestampWrites } : undefined));
  },
  weft_js_set_pipeline(pass, pipeline) { weftGpu.objects[pass].setPipeline(weftGpu.objects[pipeline]); },
  weft_js_set_group(pass, index, group, offsets, count) {
    if (count === 0) return weftGpu.objects[pass].setBindGroup(index, weftGpu.objects[group]);
    // Out of the program's memory: Chromium takes 0.5 us to look at an array that lies there, and 0.1 us for one of its own.
    const own = weftGpu.offsets ??= new Uint32Array(8);
    for (let i = 0; i < count; ++i) own[i] = HEAPU32[(offsets >> 2) + i];
    return weftGpu.objects[pass].setBindGroup(index, weftGpu.objects[group], own, 0, count);
  },
  weft_js_dispatch(pass, x, y, z) { weftGpu.objects[pass].dispatchWorkgroups(x >>> 0, y >>> 0, z >>> 0); },
  weft_js_end(pass) { weftGpu.objects[pass].end(); },
  weft_js_copy(encoder, from, fromOffset, to, toOffset, size) {
    weftGpu.objects[encoder].copyBufferToBuffer(weftGpu.objects[from], fromOffset, weftGpu.objects[to], toOffset, size);
  },
  weft_js_clear(encoder, buffer, offset, size) { weftGpu.objects[encoder].clearBuffer(weftGpu.objects[buffer], offset, size); },
  weft_js_resolve(encoder, queries, first, count, to, offset) {
    weftGpu.objects[encoder].resolveQuerySet(weftGpu.objects[queries], first, count, weftGpu.objects[to], offset);
  },
  weft_js_finish(encoder) { return weftGpu.put(weftGpu.objects[encoder].finish()); },

  weft_js_submit(queue, commands, count) {
    weftGpu.objects[queue].submit(Array.from(HEAP32.subarray(commands >> 2, (commands >> 2) + count), id => weftGpu.objects[id]));
  },
  weft_js_write(queue, buffer, offset, data, size) {
    weftGpu.objects[queue].writeBuffer(weftGpu.objects[buffer], offset, HEAPU8, data, size);
  },
  weft_js_work_done(queue, future) { weftGpu.start(future, weftGpu.objects[queue].onSubmittedWorkDone(), () => 1); },
  weft_js_map(buffer, future, offset, size) {
    weftGpu.start(future, weftGpu.objects[buffer].mapAsync(1, offset, size), () => 1);
  },
  weft_js_copy_mapped(buffer, offset, size, to) {
    try {
      HEAPU8.set(new Uint8Array(weftGpu.objects[buffer].getMappedRange(offset, size)), to);
      return 1;
    } catch {
      return 0;  // Not mapped, for example because the device is lost: the reader says so.
    }
  },
  weft_js_unmap(buffer) { weftGpu.objects[buffer].unmap(); },
});
