/* Weft from C: a tensor expression, a matrix product on raw buffers, and what a mistake looks like.
 */
#include <stdio.h>
#include <weft/weft.h>

/* Prints what went wrong and passes the status on. */
static weft_status check(weft_status status) {
  if (status != WEFT_OK) fprintf(stderr, "c_api: %s\n", weft_last_error());
  return status;
}

/* softmax(a + b) with tensors. */
static weft_status tensors(weft_device device) {
  const int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  char text[200];
  weft_tensor pair[2] = {NULL, NULL};
  weft_tensor sum = NULL;
  weft_tensor soft = NULL;
  weft_status status =
      weft_tensor_from_data(device, WEFT_F32, 2, shape, values, sizeof values, &pair[0]);
  if (status == WEFT_OK) status = weft_tensor_full(device, shape, 2, 10, NULL, &pair[1]);
  if (status == WEFT_OK) status = weft_tensor_add(pair[0], pair[1], &sum);
  if (status == WEFT_OK) status = weft_tensor_softmax(sum, NULL, &soft);
  if (status == WEFT_OK) status = weft_tensor_to_text(sum, text, sizeof text, NULL);
  if (status == WEFT_OK) printf("a + b          = %s\n", text);
  if (status == WEFT_OK) status = weft_tensor_to_text(soft, text, sizeof text, NULL);
  if (status == WEFT_OK) printf("softmax(a + b) = %s\n", text);
  check(status);
  weft_tensor_free(soft);
  weft_tensor_free(sum);
  weft_tensor_free(pair[1]);
  weft_tensor_free(pair[0]);
  return status;
}

/* C = A * B^T on buffers, where A and B are the same 2x3 matrix. */
static weft_status buffers(weft_device device) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  float product[4] = {0};
  weft_buffer in = NULL;
  weft_buffer out = NULL;
  weft_status status = weft_buffer_alloc(device, sizeof values, &in);
  if (status == WEFT_OK) status = weft_buffer_alloc(device, sizeof product, &out);
  if (status == WEFT_OK) status = weft_buffer_write(in, 0, values, sizeof values);
  const weft_matrix a = {.buffer = in, .dtype = WEFT_F32, .leading_dimension = 3};
  weft_matrix c = {.buffer = out, .dtype = WEFT_F32, .leading_dimension = 2};
  if (status == WEFT_OK) status = weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 0, &c);
  if (status == WEFT_OK) status = weft_buffer_read(out, 0, product, sizeof product);
  if (status == WEFT_OK) {
    printf("A * A^T        = [[%g, %g], [%g, %g]]\n", (double)product[0], (double)product[1],
           (double)product[2], (double)product[3]);
  }
  check(status);
  c.leading_dimension = 1; /* a mistake: rows of the result would lie on each other */
  if (weft_gemm(false, true, 2, 2, 3, 1, &a, &a, 0, &c) != WEFT_OK) {
    printf("a mistake      : %s\n", weft_last_error());
  }
  weft_buffer_free(out);
  weft_buffer_free(in);
  return status;
}

int main(void) {
  weft_device device = NULL;
  weft_device_info info;
  if (check(weft_device_open(NULL, &device)) != WEFT_OK) return 1;
  if (check(weft_device_get_info(device, &info)) != WEFT_OK) return 1;
  printf("weft %s on %s\n", weft_version(), info.name);
  const bool good = tensors(device) == WEFT_OK && buffers(device) == WEFT_OK;
  weft_device_close(device);
  return good ? 0 : 1;
}
