// See scheduler.h. Between passes requests come and go; within one the job alone works.
#include "lib/batch/scheduler.h"

#include <algorithm>
#include <new>
#include <utility>

#include "lib/base/duration.h"

namespace krafla {
namespace {

constexpr int64_t kDefaultRows = 64;
constexpr int64_t kDefaultParallel = 8;
constexpr int64_t kDefaultQueue = 1024;
constexpr int64_t kMaxParallel = 4096;
constexpr int64_t kMostPriority = 100;

// What a request's own code throws ends that request alone.
template <typename Function>
auto Shielded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return MemoryError("memory: an allocation failed");
  }
}

}  // namespace

StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(std::shared_ptr<const Model> model,
                                                       const SchedulerOptions& given) {
  std::unique_ptr<Scheduler> made(new Scheduler);
  SchedulerOptions& options = made->options_;
  options = given;
  if (options.parallel == 0) options.parallel = kDefaultParallel;
  if (options.queue == 0) options.queue = kDefaultQueue;
  if (options.session.batch == 0)
    options.session.batch = std::max(kDefaultRows, 2 * options.parallel);
  if (options.parallel < 1 || options.parallel > kMaxParallel) {
    return ArgumentError("scheduler: parallel: got {}, want 1 to {}", options.parallel,
                         kMaxParallel);
  }
  if (options.queue < 1)
    return ArgumentError("scheduler: queue: got {}, want 1 or more", options.queue);
  options.session.reserve = 0;  // pages are taken as texts grow, from one pool
  KRAFLA_ASSIGN_OR_RETURN(made->root_, Session::Create(std::move(model), options.session));
  const auto rows = static_cast<int64_t>(made->root_->driver_->max_rows());
  if (rows <= options.parallel) {
    return ArgumentError("scheduler: {} rows of a pass and {} replies, want more rows", rows,
                         options.parallel);
  }
  options.session.batch = rows;
  PrefixCache::Evicted evicted;
  if (!options.folder.empty()) {
    if (options.cache_bytes == 0) {
      return ArgumentError("scheduler: a folder for texts, but no bytes of memory for them");
    }
    KRAFLA_ASSIGN_OR_RETURN(made->saved_,
                            SavedTexts::Open(options.folder, options.folder_bytes, made->root_));
    evicted = [saved = made->saved_.get()](std::shared_ptr<Session> session) {
      saved->Save(std::move(session), /*wait=*/false);
    };
  }
  made->cache_ = std::make_unique<PrefixCache>(options.cache_bytes, std::move(evicted));
  return made;
}

Scheduler::~Scheduler() {
  if (in_pass_) job_.Drop();
  const Status cancelled(absl::StatusCode::kCancelled, "");  // needs no memory
  for (std::vector<RequestPtr>* list : {&running_, &waiting_, &inbox_}) {
    for (const RequestPtr& request : *list) End(*request, cancelled);
  }
  if (saved_ == nullptr) return;
  RemoveEnded();
  try {
    cache_->Clear([this](std::shared_ptr<Session> session) {
      saved_->Save(std::move(session), /*wait=*/true);
    });
  } catch (const std::bad_alloc&) {
    // Then the rest is not kept.
  }
}

Status Scheduler::Add(std::vector<int32_t> ids, int32_t priority, std::shared_ptr<Task> task) {
  KRAFLA_RETURN_IF_ERROR(root_->CheckVocabulary(ids));
  const auto n = static_cast<int64_t>(ids.size());
  if (n == 0) return ArgumentError("scheduler: got no ids, want at least one");
  if (n > root_->context()) {
    return ContextError("context: {} tokens, want at most {}", n, root_->context());
  }
  if (priority < -kMostPriority || priority > kMostPriority) {
    return ArgumentError("scheduler: priority: got {}, want {} to {}", priority, -kMostPriority,
                         kMostPriority);
  }
  auto request = std::make_unique<Request>();
  request->ids = std::move(ids);
  request->priority = priority;
  request->task = std::move(task);
  std::lock_guard lock(mutex_);
  // Those that find a place at work wait for the next pass alone.
  if (n_running_ + n_waiting_ >= options_.parallel + options_.queue) {
    return StateError("scheduler: {} requests run and {} wait, want fewer", n_running_, n_waiting_);
  }
  request->arrived = arrivals_++;
  inbox_.push_back(std::move(request));
  ++n_waiting_;
  return OkStatus();
}

SchedulerInfo Scheduler::info() const {
  std::lock_guard lock(mutex_);
  SchedulerInfo info = info_;
  info.running = n_running_;
  info.waiting = n_waiting_;
  return info;
}

bool Scheduler::idle() const {
  std::lock_guard lock(mutex_);
  return n_running_ == 0 && n_waiting_ == 0;
}

StatusOr<bool> Scheduler::Step(int64_t max_us) {
  Driver::Pause pause;
  pause.each_item = max_us == 0;
  if (max_us > 0) pause.deadline = Driver::Clock::now() + AtMostAYear(max_us);
  while (true) {
    if (!in_pass_) {
      TakeInbox();
      SweepCancelled();
      Admit();
      PlanPass();
      Publish();
      if (!in_pass_) {
        if (idle()) return true;
        continue;  // replies ended without a row, others may come in
      }
    }
    auto done = job_.Run(pause);
    if (!done.ok()) {
      FailPass(done.status());
    } else if (*done) {
      FinishPass();
    } else {
      return false;
    }
    Publish();
    if (idle()) return true;
    if (pause.each_item || (pause.deadline && Driver::Clock::now() >= *pause.deadline)) {
      return false;
    }
  }
}

void Scheduler::TakeInbox() {
  std::lock_guard lock(mutex_);
  waiting_.reserve(waiting_.size() + inbox_.size());
  for (RequestPtr& request : inbox_) {
    request->since = passes_;
    waiting_.push_back(std::move(request));
  }
  inbox_.clear();
}

void Scheduler::SweepCancelled() {
  for (std::vector<RequestPtr>* list : {&running_, &waiting_}) {
    for (const RequestPtr& request : *list) {
      if (!request->task->cancelled()) continue;
      const int64_t read = request->session == nullptr ? 0 : request->session->length();
      End(*request, CancelledError("cancelled after {} positions", read));
    }
  }
  RemoveEnded();
}

bool Scheduler::Before(const Request& a, const Request& b) const {
  const auto level = [this](const Request& r) {
    return r.priority + (passes_ - r.since) / kAgePasses;
  };
  const int64_t level_a = level(a), level_b = level(b);
  return level_a != level_b ? level_a > level_b : a.arrived < b.arrived;
}

void Scheduler::Admit() {
  running_.reserve(static_cast<size_t>(options_.parallel));
  while (!waiting_.empty() && static_cast<int64_t>(running_.size()) < options_.parallel) {
    const auto first = std::min_element(
        waiting_.begin(), waiting_.end(),
        [this](const RequestPtr& a, const RequestPtr& b) { return Before(*a, *b); });
    RequestPtr request = std::move(*first);
    waiting_.erase(first);
    Status opened = Shielded([&] { return Open(*request); });
    while (!opened.ok() && FreeOne()) opened = Shielded([&] { return Open(*request); });
    if (!opened.ok()) {
      End(*request, opened);
    } else {
      running_.push_back(std::move(request));
    }
  }
}

// Its session: a branch of the one that shares most of the text, of those that are kept, those that
// run and those in the folder.
Status Scheduler::Open(Request& request) {
  const std::span<const int32_t> ids = request.ids;
  const std::span<const int32_t> most = ids.first(ids.size() - 1);  // one is read for its logits
  PrefixCache::Found found = cache_->Find(most);
  for (const RequestPtr& other : running_) {
    const size_t common = CommonPrefix(other->session->ids(), most);
    if (common > found.common) found = {other->session.get(), common};
  }
  std::shared_ptr<Session> loaded;
  if (saved_ != nullptr) loaded = saved_->Load(most, found.common);
  if (loaded != nullptr) found = {loaded.get(), CommonPrefix(loaded->ids(), most)};
  if (options_.cache_bytes == 0 || found.session == nullptr) found = {root_.get(), 0};
  KRAFLA_ASSIGN_OR_RETURN(request.session,
                          found.session->Branch(static_cast<int64_t>(found.common)));
  if (loaded != nullptr) cache_->Keep(std::move(loaded));
  counts_.reused_tokens += request.session->length();
  request.task->Began(request.session);
  return OkStatus();
}

// Where memory is needed: a text that is kept goes. False: there is none.
bool Scheduler::FreeOne() {
  return cache_->DropOne() || (saved_ != nullptr && saved_->FinishWriting());
}

Status Scheduler::AddRows(Request& request, std::span<const int32_t> ids, bool goes_on) {
  Status added = Shielded([&] { return job_.AddAppend(*request.session, ids, goes_on); });
  while (!added.ok() && FreeOne()) {
    added = Shielded([&] { return job_.AddAppend(*request.session, ids, goes_on); });
  }
  return added;
}

// True where tokens were chosen and their rows have a place.
bool Scheduler::PlanReply(Request& request, int64_t most) {
  if (request.chosen.empty()) {
    const StatusOr<std::span<const int32_t>> ids =
        Shielded([&] { return request.task->Next(*request.session, static_cast<size_t>(most)); });
    if (!ids.ok() || ids->empty()) {
      End(request, ids.status());
      return false;
    }
    request.chosen = *ids;
  }
  if (request.session->length() >= request.session->context()) {
    End(request, ContextError("context: {} tokens in use, want fewer", request.session->length()));
    return false;
  }
  request.replies = true;
  const Status added = AddRows(request, request.chosen, false);
  if (!added.ok()) {
    End(request, added);
    return false;
  }
  request.reading = static_cast<int64_t>(request.chosen.size());
  return true;
}

// Each prompt, the first first, is offered half of the rows that are left; what nobody takes goes
// round once more. So the first gets most and the last something.
void Scheduler::ShareRows(std::span<Request* const> prompts, int64_t room) {
  for (const bool all : {false, true}) {
    for (Request* request : prompts) {
      const auto n = static_cast<int64_t>(request->ids.size());
      const int64_t left = n - request->session->length() - request->reading;
      const int64_t rows = std::min(left, all ? room : (room + 1) / 2);
      request->reading += rows;
      room -= rows;
    }
  }
}

bool Scheduler::PlanPrompt(Request& request) {
  const auto done = static_cast<size_t>(request.session->length());
  const auto n = static_cast<size_t>(request.reading);
  if (n == 0) return false;
  const Status added = AddRows(request, std::span<const int32_t>(request.ids).subspan(done, n),
                               done + n < request.ids.size());
  if (!added.ok()) End(request, added);
  return added.ok();
}

void Scheduler::PlanPass() {
  job_.Reserve(running_.size());
  int64_t room = options_.session.batch;
  bool any = false;
  std::vector<Request*> replies, prompts;
  replies.reserve(running_.size());
  prompts.reserve(running_.size());
  const auto only = std::find_if(running_.begin(), running_.end(),
                                 [](const RequestPtr& request) { return request->alone; });
  for (const RequestPtr& request : running_) {
    request->reading = 0;
    if (only != running_.end() && request != *only) continue;
    const bool reads = request->session->length() < static_cast<int64_t>(request->ids.size());
    (reads ? prompts : replies).push_back(request.get());
  }
  // A row for each reply; of what is left at most half for one that has more to read.
  auto others = static_cast<int64_t>(replies.size());
  for (Request* request : replies) {
    --others;
    if (!PlanReply(*request, 1 + (room - others - 1) / 2)) continue;
    any = true;
    room -= request->reading;
  }
  std::sort(prompts.begin(), prompts.end(),
            [this](const Request* a, const Request* b) { return Before(*a, *b); });
  ShareRows(prompts, room);
  for (Request* request : prompts) any = PlanPrompt(*request) || any;
  if (any) {
    job_.Begin(*root_->driver_, {});
    in_pass_ = true;
  }
  RemoveEnded();
}

void Scheduler::FinishPass() {
  job_.Commit();
  in_pass_ = false;
  ++passes_;
  for (const RequestPtr& request : running_) {
    if (request->reading > 0) FinishRows(*request);
  }
  RemoveEnded();
}

// No callback of a job fails: it is memory or the disk, of whichever request. What fails alone
// ends.
void Scheduler::FailPass(const Status& status) {
  job_.Drop();
  in_pass_ = false;
  for (const RequestPtr& request : running_) {
    if (request->reading == 0) continue;
    if (request->alone) End(*request, status);
    request->alone = true;
  }
  RemoveEnded();
}

void Scheduler::FinishRows(Request& request) {
  request.alone = false;
  const auto n = static_cast<int64_t>(request.ids.size());
  if (request.replies) {
    counts_.reply_tokens += request.reading;
    request.chosen = {};
    const StatusOr<bool> ended = Shielded([&] { return request.task->Took(); });
    if (!ended.ok() || *ended) End(request, ended.status());
    return;
  }
  counts_.prompt_tokens += request.reading;
  const Status told = Shielded([&]() -> Status {
    request.task->Progress(request.session->length(), n);
    return OkStatus();
  });
  if (!told.ok()) End(request, told);
}

// The task is told once; RemoveEnded clears away. A text that was read is kept, whatever ended it.
void Scheduler::End(Request& request, const Status& status) noexcept {
  if (request.task == nullptr) return;
  std::exchange(request.task, nullptr)->Ended(status);
}

void Scheduler::RemoveEnded() {
  for (std::vector<RequestPtr>* list : {&running_, &waiting_}) {
    for (size_t i = 0; i < list->size();) {
      if ((*list)[i]->task != nullptr) {
        ++i;
        continue;
      }
      const RequestPtr request = std::move((*list)[i]);
      list->erase(list->begin() + static_cast<ptrdiff_t>(i));
      try {
        if (request->session != nullptr) cache_->Keep(std::move(request->session));
      } catch (const std::bad_alloc&) {
        // Then it is not kept.
      }
    }
  }
}

void Scheduler::Publish() {
  counts_.passes = passes_;
  counts_.cache_bytes = cache_->bytes();
  counts_.cached = static_cast<int64_t>(cache_->size());
  if (saved_ != nullptr) {
    counts_.folder_bytes = saved_->bytes();
    counts_.in_folder = static_cast<int64_t>(saved_->size());
  }
  std::lock_guard lock(mutex_);
  info_ = counts_;
  n_running_ = static_cast<int64_t>(running_.size());
  n_waiting_ = static_cast<int64_t>(waiting_.size() + inbox_.size());
}

}  // namespace krafla
