#pragma once

// What library.js does with the browser's WebGPU objects. Objects are numbers (0: none), sizes and
// offsets are doubles, texts are a pointer and a length. Futures are numbers that the caller
// chooses.

extern "C" {

void weft_js_free(int object);
void weft_js_destroy(int object);  // GPUDevice and GPUBuffer

// Answers that arrive later: `weft_js_wait` suspends the program until one is there,
// `weft_js_ready` only looks.
void weft_js_wait(int future);
int weft_js_ready(int future);
int weft_js_answer(int future);                           // its object, or its status
int weft_js_answer_text(int future, char* to, int room);  // gives the text's length
void weft_js_forget(int future);
int weft_js_event(int device, char* to, int room);  // 0: none, 1: lost, else a WGPUErrorType

void weft_js_request_adapter(int future, int low_power);
int weft_js_adapter_has(int adapter, const char* feature);
double weft_js_adapter_limit(int adapter, const char* name);
int weft_js_adapter_text(int adapter, const char* name, char* to, int room);
double weft_js_adapter_number(int adapter, const char* name);
int weft_js_adapter_matrix(int adapter, int index, int* five);
void weft_js_request_device(int adapter, int future, const char* features, const char* label,
                            int label_size);

int weft_js_queue(int device);
int weft_js_buffer(int device, double size, int usage, const char* label, int label_size);
int weft_js_query_set(int device, int count);
int weft_js_group_layout(int device, const int* entries, int count);  // 4 numbers an entry
int weft_js_pipeline_layout(int device, const int* layouts, int count);
int weft_js_bind_group(int device, int layout, const double* entries, int count);  // 4 an entry
int weft_js_module(int device, const char* code, int code_size, const char* label, int label_size);
void weft_js_module_info(int module, int future);
void weft_js_pipeline(int device, int future, int layout, int module, const char* entry,
                      int entry_size, const char* constants, const char* label, int label_size);
void weft_js_push_scope(int device, int filter);
void weft_js_pop_scope(int device, int future);

int weft_js_encoder(int device);
int weft_js_pass(int encoder, int queries, int first, int last);
void weft_js_set_pipeline(int pass, int pipeline);
void weft_js_set_group(int pass, int index, int group, const unsigned* offsets, int count);
void weft_js_dispatch(int pass, unsigned x, unsigned y, unsigned z);
void weft_js_end(int pass);
void weft_js_copy(int encoder, int from, double from_offset, int to, double to_offset, double size);
void weft_js_clear(int encoder, int buffer, double offset, double size);
void weft_js_resolve(int encoder, int queries, int first, int count, int to, double offset);
int weft_js_finish(int encoder);

void weft_js_submit(int queue, const int* commands, int count);
void weft_js_write(int queue, int buffer, double offset, const void* data, double size);
void weft_js_work_done(int queue, int future);
void weft_js_map(int buffer, int future, double offset, double size);
int weft_js_copy_mapped(int buffer, double offset, double size, void* to);
void weft_js_unmap(int buffer);

}  // extern "C"
