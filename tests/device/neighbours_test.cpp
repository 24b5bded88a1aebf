// Neighbours, segments, counts and ranks against loops on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor row(const Floats& values) { return api_device().tensor({values.size()}, values); }
Tensor whole(const Ints& values) { return api_device().tensor({values.size()}, values); }
Ints ints(const Tensor& x) { return x.to_vector<std::int32_t>(); }

Floats noise(std::size_t count, std::uint32_t seed) {
  Floats out(count);
  for (float& v : out) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(seed >> 8U) / 8388608.0F - 1;
  }
  return out;
}

TEST(DeviceNeighbours, NearestPointsAreExact) {
  const std::size_t m = 21, n = 9000, size = 7, k = 5;  // more points than one tile has
  const Floats q = noise(m * size, 1);
  const Floats p = noise(n * size, 2);
  for (const std::string metric : {"euclidean", "cosine", "inner"}) {
    const Neighbours found = knn(api_device().tensor({m, size}, q),
                                 api_device().tensor({n, size}, p), k, {.metric = metric});
    const Ints at = ints(found.indices);
    const Floats got = found.distances.to_vector();
    for (std::size_t i = 0; i < m; ++i) {
      std::vector<double> distance(n);
      for (std::size_t j = 0; j < n; ++j) {
        double dot = 0, aa = 0, bb = 0, square = 0;
        for (std::size_t d = 0; d < size; ++d) {
          const double a = q[i * size + d], b = p[j * size + d];
          dot += a * b;
          aa += a * a;
          bb += b * b;
          square += (a - b) * (a - b);
        }
        distance[j] = metric == "euclidean" ? std::sqrt(square)
                      : metric == "cosine"  ? 1 - dot / std::sqrt(aa * bb)
                                            : dot;
      }
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return metric == "inner" ? distance[a] > distance[b] : distance[a] < distance[b];
      });
      for (std::size_t r = 0; r < k; ++r) {
        EXPECT_NEAR(got[i * k + r], distance[order[r]], 2e-6) << metric << i << " " << r;
        EXPECT_NEAR(distance[static_cast<std::size_t>(at[i * k + r])], distance[order[r]], 2e-6);
      }
    }
  }
  const Tensor one = row({1, 2}).reshape({1, 2});
  EXPECT_THROW((void)knn(one, one, 2), Error);
  EXPECT_THROW((void)knn(one, one, 1, {.metric = "far"}), Error);
  EXPECT_EQ(knn(one.slice(0, 0, 0), one, 1).indices.shape(), (Shape{0, 1}));
}

TEST(DeviceNeighbours, EqualsComeInOrderAndNaNComesLast) {
  const Tensor points = row({2, 1, nan, 1, 2, -1, nan, 3}).reshape({8, 1});
  const Neighbours near = knn(row({1}).reshape({1, 1}), points, 8);
  EXPECT_EQ(ints(near.indices), (Ints{1, 3, 0, 4, 5, 7, 2, 6}));
  const Floats distances = near.distances.to_vector();
  EXPECT_EQ((Floats{distances.begin(), distances.begin() + 6}), (Floats{0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(std::isnan(distances[6]) && std::isnan(distances[7]));
  // Far from the origin, where squares less products would leave nothing of a distance.
  const Tensor far = row({4096, 4097, 4098, 4099}).reshape({4, 1});
  EXPECT_EQ(knn(row({4098}).reshape({1, 1}), far, 3).distances.to_vector(), (Floats{0, 1, 1}));
}

TEST(DeviceNeighbours, MoreNeighboursThanOneListHolds) {
  const std::size_t n = 300;
  Floats p(n);
  for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<float>(i * 7 % n);
  const Neighbours found = knn(row({0}).reshape({1, 1}), row(p).reshape({n, 1}), 200);
  const Floats distances = found.distances.to_vector();
  const Ints at = ints(found.indices);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(distances[i], static_cast<float>(i));
    EXPECT_EQ(p[static_cast<std::size_t>(at[i])], static_cast<float>(i));
  }
}

TEST(DeviceNeighbours, ManyNeighboursFarFromTheOriginAreExact) {
  // Squares less products, in f32, would tell none of these apart: 4096² has 24 bits.
  const std::size_t n = 700;
  Floats p(n);
  for (std::size_t i = 0; i < n; ++i) p[i] = 4096 + static_cast<float>(i * 11 % n) / 1024;
  for (const std::string metric : {"euclidean", "inner"}) {
    const Neighbours found =
        knn(row({4096}).reshape({1, 1}), row(p).reshape({n, 1}), 650, {.metric = metric});
    const Ints at = ints(found.indices);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto rank = static_cast<float>(metric == "inner" ? n - 1 - i : i);
      EXPECT_EQ(p[static_cast<std::size_t>(at[i])], 4096 + rank / 1024) << metric << i;
    }
  }
}

TEST(DeviceNeighbours, SixteenBitsAreTakenAsTheyAre) {
  const Tensor x = api_device().tensor({40, 3}, noise(120, 5));
  for (const DType type : {DType::f16, DType::bf16}) {
    const Tensor halves = x.to(type);
    const Neighbours found = knn(halves, halves, 4);
    const Neighbours exact = knn(halves.to(DType::f32), halves.to(DType::f32), 4);
    EXPECT_EQ(ints(found.indices), ints(exact.indices));
    EXPECT_EQ(found.distances.to_vector(), exact.distances.to_vector());
  }
}

TEST(DeviceNeighbours, RowsOfOneIdBecomeOne) {
  const Tensor x = row({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).reshape({5, 2});
  const Tensor ids = whole({2, 0, 2, -1, 7});
  EXPECT_EQ(segment_sum(x, ids, 4).to_vector(), (Floats{3, 4, 0, 0, 6, 8, 0, 0}));
  EXPECT_EQ(segment_mean(x, ids, 4).to_vector(), (Floats{3, 4, 0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(segment_max(x, ids, 3).to_vector(), (Floats{3, 4, 0, 0, 5, 6}));
  EXPECT_EQ(segment_min(-x, ids, 3).to_vector(), (Floats{-3, -4, 0, 0, -5, -6}));
  const Tensor halves = segment_mean(x.to(DType::f16), ids, 3);
  EXPECT_EQ(halves.dtype(), DType::f16);
  EXPECT_EQ(halves.to_vector(), (Floats{3, 4, 0, 0, 3, 4}));
  EXPECT_EQ(ints(segment_sum(whole({5, 6, 7}), whole({1, 1, 0}), 2)), (Ints{7, 11}));
  EXPECT_TRUE(std::isnan(segment_max(row({1, nan, 3}), whole({0, 0, 0}), 1).item()));
  EXPECT_EQ(segment_sum(x.slice(0, 0, 0), ids.slice(0, 0, 0), 2).to_vector(), (Floats{0, 0, 0, 0}));
  EXPECT_THROW((void)segment_sum(x, ids.slice(0, 0, 4), 2), Error);
}

TEST(DeviceNeighbours, CountsAndHistograms) {
  EXPECT_EQ(ints(bincount(whole({0, 3, 3, 1, 9, -2}), 4)), (Ints{1, 1, 0, 2}));
  EXPECT_EQ(bincount(whole({0, 1, 1}), 3, row({0.5F, 2, 3})).to_vector(), (Floats{0.5F, 5, 0}));
  const Tensor x = row({0, 0.1F, 0.25F, 0.5F, 0.999F, 1, 1.01F, -0.01F, nan});
  EXPECT_EQ(ints(histogram(x, 4, 0, 1)), (Ints{2, 1, 1, 2}));
  EXPECT_EQ(ints(histogram(x.slice(0, 0, 0), 2, 0, 1)), (Ints{0, 0}));
  EXPECT_THROW((void)histogram(x, 0, 0, 1), Error);
  EXPECT_THROW((void)histogram(x, 2, 1, 1), Error);
  EXPECT_THROW((void)histogram(x, ~std::uint64_t{0}, 0, 1), Error) << "edges without number";
  EXPECT_THROW((void)histogram(x, std::uint64_t{1} << 31U, 0, 1), Error);
}

TEST(DeviceNeighbours, RunsOfEquals) {
  const Runs runs = unique_consecutive(whole({4, 4, 1, 4, 4, 4, -2}));
  EXPECT_EQ(runs.size.item<std::int32_t>(), 4);
  EXPECT_EQ(ints(runs.values), (Ints{4, 1, 4, -2, 0, 0, 0}));
  EXPECT_EQ(ints(runs.counts), (Ints{2, 1, 3, 1, 0, 0, 0}));
  EXPECT_EQ(ints(runs.inverse), (Ints{0, 0, 1, 2, 2, 2, 3}));
  EXPECT_EQ(unique_consecutive(row({3})).values.to_vector(), (Floats{3}));
  EXPECT_EQ(unique_consecutive(row({})).size.item<std::int32_t>(), 0);
}

TEST(DeviceNeighbours, ExtremesSoFarAndWhereTheyAre) {
  const Tensor x = row({1, 3, 2, 3, nan, 9}).reshape({1, 6});
  const Sorted most = cummax_indices(x, 1);
  EXPECT_EQ(ints(most.indices), (Ints{0, 1, 1, 3, 4, 4}));
  const Sorted least = cummin_indices(row({3, 1, 2, 1, 0}), 0);
  EXPECT_EQ(least.values.to_vector(), (Floats{3, 1, 1, 1, 0}));
  EXPECT_EQ(ints(least.indices), (Ints{0, 1, 1, 3, 4}));
}

TEST(DeviceNeighbours, PointsThatAreTheirOwnNeighboursHaveSlopesOfOthers) {
  // On a line at 0, 3 and 4: the nearest is each itself, and the second 3 or 1 away.
  const Tensor x = variable(api_device().tensor({3, 1}, Floats{0, 3, 4}));
  const Tensor y = sum(knn(x, x, 2).distances);
  EXPECT_EQ(y.item(), 5.0F);
  EXPECT_EQ(grad(y, {x})[0].to_vector(), (Floats{-1, -1, 2}));
}

TEST(DeviceNeighbours, QuantilesAndModes) {
  const Tensor x = row({5, 1, 4, 2, 3, 9, 9, 7}).reshape({2, 4});
  EXPECT_EQ(median(x).to_vector(), (Floats{3, 8}));
  EXPECT_EQ(quantile(x, 0.25, 0).to_vector(), (Floats{3.5F, 3, 5.25F, 3.25F}));
  EXPECT_EQ(quantile(x, 1, 1, true).shape(), (Shape{2, 1}));
  EXPECT_TRUE(std::isnan(median(row({1, nan, 2})).item()));
  EXPECT_EQ(median(row({2, 1}).to(DType::bf16)).to_vector(), (Floats{1.5F}));
  EXPECT_THROW((void)quantile(x, 1.5), Error);
  const Sorted mode_of = mode(whole({3, 1, 3, 2, 1, 0}));
  EXPECT_EQ(mode_of.values.item<std::int32_t>(), 1);
  EXPECT_EQ(mode_of.indices.item<std::int32_t>(), 4);
  EXPECT_EQ(mode(x, 0, true).values.shape(), (Shape{1, 4}));
}

TEST(DeviceNeighbours, QuantilesByTheMethodsOfNumpy) {
  const Tensor x = row({40, 10, 30, 20, 50});
  const auto at = [&](double q, std::string_view method) {
    return quantile(x, q, -1, false, method).item();
  };
  // What numpy gives for [10, 20, 30, 40, 50].
  const struct {
    std::string_view method;
    Floats wanted;  // for 0, 0.1, 0.4, 0.5 and 1
  } rows[] = {
      {"linear", {10, 14, 26, 30, 50}},
      {"lower", {10, 10, 20, 30, 50}},
      {"higher", {10, 20, 30, 30, 50}},
      {"nearest", {10, 10, 30, 30, 50}},
      {"midpoint", {10, 15, 25, 30, 50}},
      {"hazen", {10, 10, 25, 30, 50}},
      {"weibull", {10, 10, 24, 30, 50}},
      {"median_unbiased", {10, 10, 74.0F / 3, 30, 50}},
      {"normal_unbiased", {10, 10, 24.75F, 30, 50}},
      {"inverted_cdf", {10, 10, 20, 30, 50}},
      {"averaged_inverted_cdf", {10, 10, 25, 30, 50}},
      {"interpolated_inverted_cdf", {10, 10, 20, 25, 50}},
      {"closest_observation", {10, 10, 20, 20, 50}},
  };
  for (const auto& [method, wanted] : rows) {
    const double shares[] = {0, 0.1, 0.4, 0.5, 1};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(at(shares[i], method), wanted[i], 1e-5) << method << " of " << shares[i];
    }
  }
  EXPECT_EQ(quantile(whole({7, 16777217, 9}), 1, 0, false, "lower").item<std::int32_t>(), 16777217);
  EXPECT_TRUE(std::isnan(quantile(row({1, nan, 2}), 0, 0, false, "lower").item()));
  EXPECT_THROW((void)at(0.5, "cubic"), Error);
}

/// Choosing tokens on the host: those that are left, by the same steps.
std::vector<bool> left_of(Floats x, const SampleOptions& o, const Ints& previous) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (std::ranges::contains(previous, static_cast<std::int32_t>(i))) {
      x[i] = x[i] > 0 ? x[i] / static_cast<float>(o.penalty) : x[i] * static_cast<float>(o.penalty);
    }
    x[i] /= static_cast<float>(o.temperature);
  }
  Floats sorted = x;
  std::ranges::sort(sorted, std::ranges::greater{});
  if (o.top_k > 0) sorted.resize(o.top_k);
  double total = 0;
  for (const float v : sorted) total += std::exp(double{v} - sorted[0]);
  double before = 0;
  float threshold = sorted.back();
  for (const float v : sorted) {
    if (before >= o.top_p) break;
    threshold = v;
    before += std::exp(double{v} - sorted[0]) / total;
  }
  std::vector<bool> kept(n);
  for (std::size_t i = 0; i < n; ++i) {
    kept[i] = x[i] >= threshold && (o.min_p == 0 || x[i] >= sorted[0] + std::log(o.min_p));
  }
  return kept;
}

TEST(DeviceSampling, TokensAreThoseOfCategoricalAmongWhatIsLeft) {
  const std::size_t batch = 3, n = 101;
  Floats values = noise(batch * n, 5);
  for (float& v : values) v *= 4;
  const Tensor logits = api_device().tensor({batch, n}, values);
  const Ints previous{5, 7, -1, 100, 0, 5, 3, 3, 3};
  const SampleOptions options{.previous = api_device().tensor({batch, 3}, previous),
                              .penalty = 1.3,
                              .temperature = 0.8,
                              .top_k = 40,
                              .top_p = 0.9,
                              .min_p = 0.05};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Tensor key = random::key(api_device(), seed);
    const Ints got = ints(sample_tokens(logits, key, options));
    const Floats gumbel = random::gumbel(key, {batch, n}).to_vector();
    for (std::size_t b = 0; b < batch; ++b) {
      const Floats line(values.begin() + static_cast<std::ptrdiff_t>(b * n),
                        values.begin() + static_cast<std::ptrdiff_t>((b + 1) * n));
      const Ints mine(previous.begin() + static_cast<std::ptrdiff_t>(b * 3),
                      previous.begin() + static_cast<std::ptrdiff_t>(b * 3 + 3));
      const std::vector<bool> kept = left_of(line, options, mine);
      std::size_t best = n;
      double most = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (!kept[i]) continue;
        double x = line[i];
        if (std::ranges::contains(mine, static_cast<std::int32_t>(i)))
          x = x > 0 ? x / 1.3 : x * 1.3;
        const double score = x / 0.8 + gumbel[b * n + i];
        if (best == n || score > most) {
          best = i;
          most = score;
        }
      }
      EXPECT_EQ(got[b], static_cast<std::int32_t>(best)) << seed << " " << b;
    }
  }
}

TEST(DeviceSampling, EdgesOfTheOptions) {
  const Tensor logits = row({0, 3, 1, 3}).reshape({1, 4});
  const Tensor key = random::key(api_device(), 1);
  EXPECT_EQ(ints(sample_tokens(logits, {}, {.temperature = 0})), (Ints{1}));
  EXPECT_EQ(ints(sample_tokens(row({0, 3, 1, 2}).reshape({1, 4}), key, {.top_k = 1})), (Ints{1}));
  EXPECT_EQ(ints(sample_tokens(row({0, 3, 1, 2}).reshape({1, 4}), key, {.top_p = 1e-9})),
            (Ints{1}));
  EXPECT_EQ(ints(sample_tokens(row({0, 3, 1, 2}).reshape({1, 4}), key, {.min_p = 1})), (Ints{1}));
  EXPECT_EQ(ints(sample_tokens(logits, key)), ints(random::categorical(key, logits)));
  EXPECT_TRUE(ints(sample_tokens(logits.slice(0, 0, 0), key)).empty());
  EXPECT_THROW((void)sample_tokens(logits, key, {.temperature = -1}), Error);
  EXPECT_THROW((void)sample_tokens(logits, key, {.top_p = 0}), Error);
  EXPECT_THROW((void)sample_tokens(logits, {}), Error);
  EXPECT_THROW((void)sample_tokens(row({1}), key), Error);
}

}  // namespace
}  // namespace weft::test
