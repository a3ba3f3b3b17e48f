#include "grow/histogram_split.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace petiole {
namespace {

// A histogram as rows that the search can read.
template <class W>
class HistogramRows {
 public:
  HistogramRows(const HistogramColumns& columns, const NodeHistogram& histogram, const GrowOptions& options, int n_classes)
      : histogram_(histogram), codes_(columns.n_codes.size()) {
    const std::vector<ClassId> local = number_classes(options, n_classes);
    frame_.column_of.assign(codes_.size(), -1);
    for (std::size_t j = 0; j < codes_.size(); ++j) {
      const auto begin = histogram.code.begin() + histogram.start[j], end = histogram.code.begin() + histogram.start[j + 1];
      codes_[j] = to_codes(std::vector<std::uint32_t>(begin, end));
      const bool has_missing = std::find(begin, end, columns.n_codes[j]) != end;
      frame_.add({&codes_[j], columns.n_codes[j], static_cast<std::int32_t>(j), columns.categorical[j] != 0, has_missing,
                  std::numeric_limits<double>::infinity()});
      add_entries(j, local);
    }
    start_.push_back(entries_.size());
  }

  const Frame& frame() const { return frame_; }

  // The rows of one feature.
  NodeView<W>& of(std::size_t j) {
    view_.frame = &frame_;
    view_.entries = entries_.data() + start_[j];
    view_.n = static_cast<std::uint32_t>(start_[j + 1] - start_[j]);
    return view_;
  }

 private:
  // Labels are numbered among the classes present, as in growth. Returns the number of each class.
  std::vector<ClassId> number_classes(const GrowOptions& options, int n_classes) {
    std::vector<double> totals(static_cast<std::size_t>(n_classes), 0.0);
    for (std::size_t i = histogram_.start[0]; i < histogram_.start[1]; ++i)
      totals[histogram_.label[i]] += histogram_.weight[i];
    std::vector<ClassId> local(totals.size(), 0);
    for (std::size_t k = 0; k < totals.size(); ++k) {
      local[k] = static_cast<ClassId>(view_.class_totals.size());
      if (totals[k] <= 0) continue;
      view_.class_totals.push_back(static_cast<W>(totals[k]));
      view_.class_scale.push_back(options.class_scale.empty() ? 1.0 : options.class_scale[k]);
      view_.weight += totals[k];
    }
    return local;
  }

  // A bar of the histogram is an entry, or several if it is heavier than one can be.
  void add_entries(std::size_t j, const std::vector<ClassId>& local) {
    start_.push_back(entries_.size());
    for (std::size_t i = histogram_.start[j]; i < histogram_.start[j + 1]; ++i) {
      const auto row = static_cast<RowId>(i - histogram_.start[j]);
      double left = histogram_.weight[i];
      do {
        const double weight = std::min(left, Entry<W>::kMostWeight);
        entries_.push_back({row, local[histogram_.label[i]], static_cast<typename Entry<W>::Stored>(weight)});
        left -= weight;
      } while (left > 0);
    }
  }

  const NodeHistogram& histogram_;
  Entries<W> entries_;
  std::vector<std::size_t> start_;  // of each feature's entries
  std::vector<Codes> codes_;
  Frame frame_;
  NodeView<W> view_;
};

}  // namespace

HistogramSearch::HistogramSearch(HistogramColumns columns, GrowOptions options, int n_classes, double dataset_weight,
                                 bool whole)
    : columns_(std::move(columns)), options_(std::move(options)), whole_(whole) {
  context_.n_classes = n_classes;
  context_.dataset_weight = dataset_weight;
  for (std::size_t j = 0; j < columns_.n_codes.size(); ++j)
    context_.many_valued.push_back(columns_.categorical[j] && columns_.n_codes[j] >= 0.3 * dataset_weight);
  context_.all_many_valued =
      std::all_of(context_.many_valued.begin(), context_.many_valued.end(), [](auto many) { return many; });
  const bool logarithms = options_.criterion == Criterion::entropy || options_.criterion == Criterion::gain_ratio;
  if (whole_ && logarithms) log_table_.emplace(static_cast<std::uint32_t>(dataset_weight));
}

std::optional<HistogramChoice> HistogramSearch::find(std::uint64_t key, const NodeHistogram& histogram) const {
  return whole_ ? find_with<std::uint32_t>(key, histogram) : find_with<double>(key, histogram);
}

template <class W>
std::optional<HistogramChoice> HistogramSearch::find_with(std::uint64_t key, const NodeHistogram& histogram) const {
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
  // As in growth: features are drawn until the number asked for is reached and (with redraw) one of them has a candidate.
  const auto more = [&](std::int32_t drawn) {
    return drawn < n_features && (all || drawn < options_.max_features || (options_.redraw && !found));
  };
  for (std::int32_t drawn = 0; more(drawn); ++drawn) {
    if (!all) {
      const auto other = static_cast<std::size_t>(drawn) + random.below(static_cast<std::uint32_t>(n_features - drawn));
      std::swap(shuffled[static_cast<std::size_t>(drawn)], shuffled[other]);
    }
    const std::int32_t j = shuffled[static_cast<std::size_t>(drawn)];
    candidates.emplace_back();
    find_candidates(context, rows.of(static_cast<std::size_t>(j)), &j, 1, scratch, &candidates.back());
    found |= candidates.back().found;
  }
  const int chosen = choose(context, rows.frame(), candidates, derive_key(key, 0));
  if (chosen < 0) return std::nullopt;
  HistogramChoice choice{candidates[static_cast<std::size_t>(chosen)], {}};
  const auto column = static_cast<std::size_t>(choice.candidate.column);
  if (columns_.categorical[column] && options_.nominal_splits == NominalSplits::binary)
    choice.left = left_codes(context, rows.of(column), choice.candidate, scratch);
  return choice;
}

NodeHistogram to_histogram(const double* table, std::size_t n_rows, std::size_t n_classes,
                           std::span<const std::uint32_t> first) {
  NodeHistogram histogram;
  histogram.start.push_back(0);
  for (std::size_t j = 0; j + 1 < first.size(); ++j) {
    const std::uint32_t begin = first[j], end = first[j + 1];
    if (begin > end || end > n_rows) throw std::invalid_argument("first: must rise, up to the rows of the table");
    for (std::uint32_t row = begin; row < end; ++row)
      for (std::size_t k = 0; k < n_classes; ++k) {
        const double weight = table[row * n_classes + k];
        if (weight <= 0) continue;
        histogram.code.push_back(row - begin);
        histogram.label.push_back(static_cast<ClassId>(k));
        histogram.weight.push_back(weight);
      }
    histogram.start.push_back(static_cast<std::uint32_t>(histogram.code.size()));
  }
  return histogram;
}

std::uint64_t root_key(std::uint64_t seed) { return mix(seed); }
std::uint64_t branch_key(std::uint64_t key, std::uint64_t branch) { return derive_key(key, branch + 1); }

}  // namespace petiole
