#include "lazy/options.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace petiole {
namespace {

// With fewer queries, sharing is not faster.
constexpr std::size_t kFewQueries = 4;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

// Queries with equal cells have equal predictions: `first[i]` is the first query like query i.
std::vector<std::size_t> first_of_equals(const Matrix& queries) {
  const auto n = static_cast<std::size_t>(queries.n_rows), d = static_cast<std::size_t>(queries.n_columns);
  std::vector<std::uint64_t> bits(n * d);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const double value = queries.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      bits[i * d + j] = std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value + 0.0);
    }
  const auto row = [&](std::size_t i) { return std::span(bits).subspan(i * d, d); };
  std::vector<std::size_t> order(n), first(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
  });
  for (std::size_t i = 0; i < n; ++i) {
    const bool same = i > 0 && std::equal(row(order[i]).begin(), row(order[i]).end(), row(order[i - 1]).begin());
    first[order[i]] = same ? first[order[i - 1]] : order[i];
  }
  return first;
}

// One search per thread, and a way to stop them: only the calling thread may ask, the others look at what it found.
class Searchers {
 public:
  Searchers(const LazyData& data, const LazyTreeOptions& options, ThreadPool& pool, Interrupt& interrupt) : pool_(pool) {
    for (int t = 0; t < pool.n_threads(); ++t) {
      searches_.push_back(std::make_unique<LazySearch>(data, options));
      interrupts_.emplace_back([this, &interrupt, t] {
        if (t == 0 && interrupt.requested()) stopped_ = true;
        return stopped_.load();
      });
    }
  }

  template <class F>
  void run(std::size_t n_items, F&& body) {
    pool_.run(static_cast<int>(n_items), [&](int thread, int item) {
      if (stopped_) throw Interrupted();
      const auto mine = static_cast<std::size_t>(thread);
      body(*searches_[mine], interrupts_[mine], static_cast<std::size_t>(item));
    });
  }

 private:
  ThreadPool& pool_;
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<LazySearch>> searches_;
  std::vector<Interrupt> interrupts_;
};

// The queries that are predicted in each sample, and where the results go.
struct Plan {
  std::vector<LazyQuery> queries;
  std::size_t share_from, n_classes;
  std::function<bool(const LazyBag&, std::size_t)> asks = [](const LazyBag&, std::size_t) { return true; };
  std::vector<double> sums;
  std::vector<std::uint32_t> n_asked;

  Plan(std::vector<LazyQuery>&& all, int k, const LazyTreeOptions& options)
      : queries(std::move(all)),
        share_from(queries.size() < kFewQueries ? kNever : options.share_from),
        n_classes(static_cast<std::size_t>(k)),
        sums(queries.size() * n_classes, 0.0),
        n_asked(queries.size(), 0) {}

  void ask(LazySearch& search, const LazyBag& bag, SharedNodes& shared, std::size_t query, std::span<double> sum,
           Interrupt& interrupt) const {
    search.grow(bag, shared, share_from, queries[query], interrupt);
    // A tree's answer is added as a whole: the sum must not depend on how the work was divided.
    const std::span<const double> answer = search.answer();
    for (std::size_t k = 0; k < n_classes; ++k) sum[k] += answer[k];
  }

  std::vector<double> means() && {
    for (std::size_t i = 0; i < queries.size(); ++i)
      for (std::size_t k = 0; k < n_classes; ++k)
        sums[i * n_classes + k] = n_asked[i] == 0 ? std::nan("") : sums[i * n_classes + k] / n_asked[i];
    return std::move(sums);
  }
};

// Sample after sample, the queries in parallel: what they share is made once and forgotten with the sample.
template <class Draw>
void ask_by_query(Plan& plan, int n_bags, Draw&& draw, Searchers& searchers, Progress& progress) {
  for (int b = 0; b < n_bags; ++b) {
    const LazyBag bag = draw(b);
    const auto shared = std::make_unique<SharedNodes>();
    searchers.run(plan.queries.size(), [&](LazySearch& search, Interrupt& interrupt, std::size_t i) {
      if (plan.asks(bag, i)) {
        plan.ask(search, bag, *shared, i, std::span(plan.sums).subspan(i * plan.n_classes, plan.n_classes), interrupt);
        ++plan.n_asked[i];
      }
      ++progress.done;
    });
  }
}

// Few queries: the samples in parallel. The answers are added in the order of the samples, as above.
template <class Draw>
void ask_by_bag(Plan& plan, int n_bags, Draw&& draw, Searchers& searchers, Progress& progress) {
  const std::size_t n_queries = plan.queries.size(), size = plan.sums.size();
  std::vector<double> answers(static_cast<std::size_t>(n_bags) * size, 0.0);
  std::vector<std::uint8_t> asked(static_cast<std::size_t>(n_bags) * n_queries, 0);
  searchers.run(static_cast<std::size_t>(n_bags), [&](LazySearch& search, Interrupt& interrupt, std::size_t b) {
    const LazyBag bag = draw(static_cast<int>(b));
    const auto shared = std::make_unique<SharedNodes>();
    for (std::size_t i = 0; i < n_queries; ++i, ++progress.done) {
      if (!plan.asks(bag, i)) continue;
      plan.ask(search, bag, *shared, i, std::span(answers).subspan(b * size + i * plan.n_classes, plan.n_classes), interrupt);
      asked[b * n_queries + i] = 1;
    }
  });
  for (std::size_t b = 0; b < static_cast<std::size_t>(n_bags); ++b) {
    for (std::size_t i = 0; i < size; ++i) plan.sums[i] += answers[b * size + i];
    for (std::size_t i = 0; i < n_queries; ++i) plan.n_asked[i] += asked[b * n_queries + i];
  }
}

template <class Draw>
void ask_all(Plan& plan, int n_bags, Draw&& draw, Searchers& searchers, int n_threads, Progress& progress) {
  progress.total = static_cast<std::uint64_t>(n_bags) * plan.queries.size();
  if (plan.queries.size() < 8 * static_cast<std::size_t>(n_threads))
    ask_by_bag(plan, n_bags, draw, searchers, progress);
  else
    ask_by_query(plan, n_bags, draw, searchers, progress);
}

}  // namespace

LazyBag LazyOptionTrees::draw(int bag) const {
  std::vector<std::uint32_t> copies;
  sampler_.draw(sample_key(bags_.seed, static_cast<std::uint64_t>(bag)), copies);
  return LazyBag(data_, copies);
}

LazyQuery LazyOptionTrees::place(const Matrix& queries, std::int64_t row) const {
  LazyQuery query;
  query.places.resize(n_features());
  for (std::size_t j = 0; j < query.places.size(); ++j) {
    const Column& column = data_.dataset.columns[j];
    Place& place = query.places[j];
    place.value = queries.at(row, static_cast<std::int64_t>(j));
    if (column.categorical) {
      place.known = place.value >= 0 && place.value < column.n_codes;
      if (place.known) place.lower = static_cast<std::uint32_t>(place.value);
      place.upper = place.lower + 1;
      continue;
    }
    place.known = !std::isnan(place.value);
    const auto& distinct = column.distinct;
    const auto lower = std::lower_bound(distinct.begin(), distinct.end(), place.value);
    place.lower = static_cast<std::uint32_t>(lower - distinct.begin());
    place.upper = place.lower + (lower != distinct.end() && *lower == place.value);
  }
  return query;
}

std::vector<double> LazyOptionTrees::predict(const Matrix& queries, const LazyTreeOptions& options, ThreadPool& pool,
                                             Interrupt& interrupt, Progress& progress) const {
  const std::vector<std::size_t> first = first_of_equals(queries);
  std::vector<std::size_t> index(first.size());
  std::vector<LazyQuery> distinct;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] != i) continue;
    index[i] = distinct.size();
    distinct.push_back(place(queries, static_cast<std::int64_t>(i)));
  }
  Plan plan(std::move(distinct), n_classes(), options);
  Searchers searchers(data_, options, pool, interrupt);
  // Without a bootstrap all samples are the same.
  const int n_bags = bags_.bootstrap == Bootstrap::none ? 1 : bags_.n_bags;
  ask_all(plan, n_bags, [this](int b) { return draw(b); }, searchers, pool.n_threads(), progress);
  const std::size_t k = plan.n_classes;
  const std::vector<double> means = std::move(plan).means();
  std::vector<double> answers(first.size() * k);
  for (std::size_t i = 0; i < first.size(); ++i)
    std::copy_n(means.begin() + static_cast<std::ptrdiff_t>(index[first[i]] * k), k,
                answers.begin() + static_cast<std::ptrdiff_t>(i * k));
  return answers;
}

std::vector<double> LazyOptionTrees::out_of_bag(const Matrix& queries, std::span<const RowId> rows,
                                                const LazyTreeOptions& options, ThreadPool& pool, Interrupt& interrupt,
                                                Progress& progress) const {
  std::vector<LazyQuery> places;
  for (std::int64_t i = 0; i < queries.n_rows; ++i) places.push_back(place(queries, i));
  Plan plan(std::move(places), n_classes(), options);
  plan.asks = [rows](const LazyBag& bag, std::size_t i) { return bag.weight[rows[i]] == 0; };
  Searchers searchers(data_, options, pool, interrupt);
  ask_all(plan, bags_.n_bags, [this](int b) { return draw(b); }, searchers, pool.n_threads(), progress);
  return std::move(plan).means();
}

LazyGraph LazyOptionTrees::explain(const Matrix& query, const LazyTreeOptions& options, int bag, Interrupt& interrupt) const {
  LazySearch search(data_, options);
  SharedNodes shared;
  const LazyGraph& graph = search.grow(draw(bag), shared, kNever, place(query, 0), interrupt);
  search.answer();
  return graph;
}

}  // namespace petiole
