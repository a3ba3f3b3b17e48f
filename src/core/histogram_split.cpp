#include "histogram_split.hpp"

#include <algorithm>
#include <numeric>

#include "random.hpp"

namespace petiole {
namespace {

// A histogram as rows that the search can read.
template <class W>
class HistogramRows {
 public:
  HistogramRows(const HistogramColumns& columns, const NodeHistogram& histogram, const GrowOptions& options, int n_classes)
      : histogram_(histogram), rows_(histogram.code.size()), codes_(columns.n_codes.size()) {
    std::iota(rows_.begin(), rows_.end(), RowId{0});
    number_classes(options, n_classes);
    weights_.assign(histogram.weight.begin(), histogram.weight.end());
    frame_.column_of.assign(codes_.size(), -1);
    for (std::size_t j = 0; j < codes_.size(); ++j) {
      const auto begin = histogram.code.begin() + histogram.start[j], end = histogram.code.begin() + histogram.start[j + 1];
      codes_[j] = to_codes(std::vector<std::uint32_t>(begin, end));
      const bool has_missing = std::find(begin, end, columns.n_codes[j]) != end;
      frame_.add({&codes_[j], columns.n_codes[j], static_cast<std::int32_t>(j), columns.nominal[j] != 0, has_missing,
                  std::numeric_limits<double>::infinity()});
    }
  }

  const Frame& frame() const { return frame_; }

  // The rows of one attribute.
  const NodeView<W>& of(std::size_t j) {
    const std::size_t begin = histogram_.start[j];
    view_.frame = &frame_;
    view_.rows = rows_.data();
    view_.labels = labels_.data() + begin;
    view_.weights = weights_.data() + begin;
    view_.n = histogram_.start[j + 1] - histogram_.start[j];
    return view_;
  }

 private:
  // Labels are numbered among the classes present, as in growth.
  void number_classes(const GrowOptions& options, int n_classes) {
    std::vector<double> totals(static_cast<std::size_t>(n_classes), 0.0);
    for (std::size_t i = histogram_.start[0]; i < histogram_.start[1]; ++i) totals[histogram_.label[i]] += histogram_.weight[i];
    std::vector<ClassId> local(totals.size(), 0);
    for (std::size_t k = 0; k < totals.size(); ++k) {
      local[k] = static_cast<ClassId>(view_.class_totals.size());
      if (totals[k] <= 0) continue;
      view_.class_totals.push_back(static_cast<W>(totals[k]));
      view_.class_scale.push_back(options.class_scale.empty() ? 1.0 : options.class_scale[k]);
      view_.weight += totals[k];
    }
    for (const ClassId label : histogram_.label) labels_.push_back(local[label]);
  }

  const NodeHistogram& histogram_;
  std::vector<RowId> rows_;
  std::vector<ClassId> labels_;
  std::vector<W> weights_;
  std::vector<Codes> codes_;
  Frame frame_;
  NodeView<W> view_;
};

}  // namespace

HistogramSearch::HistogramSearch(HistogramColumns columns, GrowOptions options, int n_classes, double dataset_weight, bool whole)
    : columns_(std::move(columns)), options_(std::move(options)), whole_(whole) {
  context_.n_classes = n_classes;
  context_.dataset_weight = dataset_weight;
  for (std::size_t j = 0; j < columns_.n_codes.size(); ++j)
    context_.many_valued.push_back(columns_.nominal[j] && columns_.n_codes[j] >= 0.3 * dataset_weight);
  context_.all_many_valued =
      std::all_of(context_.many_valued.begin(), context_.many_valued.end(), [](auto many) { return many; });
  const bool logarithms = options_.criterion == Criterion::entropy || options_.criterion == Criterion::gain_ratio;
  if (whole_ && logarithms) log_table_.emplace(static_cast<std::uint32_t>(dataset_weight));
}

std::optional<Candidate> HistogramSearch::find(std::uint64_t key, const NodeHistogram& histogram) const {
  return whole_ ? find_with<std::uint32_t>(key, histogram) : find_with<double>(key, histogram);
}

template <class W>
std::optional<Candidate> HistogramSearch::find_with(std::uint64_t key, const NodeHistogram& histogram) const {
  SearchContext context = context_;
  context.options = &options_;
  context.log_table = log_table_ ? &*log_table_ : nullptr;
  HistogramRows<W> rows(columns_, histogram, options_, context.n_classes);
  SearchScratch<W> scratch;
  const auto n_features = static_cast<std::int32_t>(columns_.n_codes.size());
  const bool all = options_.max_features == 0 || options_.max_features >= n_features;
  std::vector<std::int32_t> shuffled(static_cast<std::size_t>(n_features));
  std::iota(shuffled.begin(), shuffled.end(), 0);
  Random random(key);
  std::vector<Candidate> candidates;
  bool found = false;
  // As in growth: attributes are drawn until the number asked for is reached and one of them has a candidate.
  for (std::int32_t drawn = 0; drawn < n_features && (all || drawn < options_.max_features || !found); ++drawn) {
    if (!all) {
      const auto other = static_cast<std::size_t>(drawn) + random.below(static_cast<std::uint32_t>(n_features - drawn));
      std::swap(shuffled[static_cast<std::size_t>(drawn)], shuffled[other]);
    }
    const std::int32_t j = shuffled[static_cast<std::size_t>(drawn)];
    candidates.push_back(find_candidate(context, rows.of(static_cast<std::size_t>(j)), j, scratch));
    found |= candidates.back().found;
  }
  const int chosen = choose(context, rows.frame(), candidates, derive_key(key, 0));
  if (chosen < 0) return std::nullopt;
  return candidates[static_cast<std::size_t>(chosen)];
}

std::uint64_t root_key(std::uint64_t seed) { return mix(seed); }
std::uint64_t branch_key(std::uint64_t key, std::uint64_t branch) { return derive_key(key, branch + 1); }

}  // namespace petiole
