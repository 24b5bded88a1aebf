#pragma once

/// The public C++ API of Weft. Errors are thrown as weft::Error.

#include "weft/compile.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"
#include "weft/dtype.hpp"
#include "weft/elementwise.hpp"
#include "weft/error.hpp"
#include "weft/grad.hpp"
#include "weft/image.hpp"
#include "weft/io.hpp"
#include "weft/losses.hpp"
#include "weft/math.hpp"
#include "weft/norms.hpp"
#include "weft/ops.hpp"
#include "weft/random.hpp"
#include "weft/recover.hpp"
#include "weft/sequence.hpp"
#include "weft/shape.hpp"
#include "weft/tensor.hpp"
#include "weft/version.hpp"
