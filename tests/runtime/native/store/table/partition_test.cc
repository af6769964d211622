// Messages of keys and rows: who gets which, negative keys too, and what does not fit is refused.
#include "store/lookup/partition.h"

#include "check.h"
#include "store/errors.h"
#include "store/exchange/inbox.h"
#include "store/exchange/row_message.h"
#include "store/lookup/occurrences.h"
#include "store/lookup/partial_sums.h"

namespace exchange = recmigrate::exchange;

namespace {

using Keys = std::vector<std::int64_t>;

// What a number of keys has more, where bytes say how often each occurs.
constexpr std::int64_t kByte = std::int64_t{1} << 40;

TEST(partition_sorts_distinct_keys_by_owner) {
  const Keys first{7, -1, 7, 4, -3, 1};
  const Keys second{1001, 5, 1001};
  std::vector<std::int32_t> places(6);
  std::vector<std::int32_t> others(3);
  const exchange::Partition made({{first.data(), 6, exchange::kByRemainder, false, places.data()},
                                  {second.data(), 3, exchange::kByBucket, true, others.data()}},
                                 3);
  Keys message(made.message_size());
  made.write_message(message.data());
  // -3 mod 3 is 0, -1 mod 3 is 2; (1001 mod 1000) mod 3 is 1, which 1001 mod 3 is not
  // The second table counts: 1001 occurs twice, as a byte says, and 5 once.
  CHECK((message == Keys{1, 0, -3, 3, kByte + 1, 7, 4, 1, 1001, 2, 1, 1, -1, 5}));
  CHECK((places == std::vector<std::int32_t>{1, 4, 1, 2, 0, 3}));
  CHECK((others == std::vector<std::int32_t>{0, 1, 0}));
  std::vector<std::int32_t> counts(6);
  made.write_counts(counts.data());
  CHECK((counts == std::vector<std::int32_t>{1, 0, 3, 1, 1, 1}));
}

TEST(partition_gives_a_rank_a_whole_table) {
  const Keys keys{5, 6, 5};
  std::vector<std::int32_t> places(3);
  const std::vector<exchange::Asked> asked{{keys.data(), 3, 1, false, places.data()}};
  Keys message(5);
  exchange::Partition(asked, 3).write_message(message.data());
  CHECK((message == Keys{0, 2, 5, 6, 0}));
  CHECK_THROWS(recmigrate::InvalidInput, exchange::Partition(asked, 1), "keys cannot go to rank 1: there are 1");
}

TEST(partition_numbers_many_distinct_keys_in_the_order_in_which_they_come) {
  Keys keys(3000);
  std::vector<std::int32_t> wanted(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    wanted[i] = static_cast<std::int32_t>(i % 1000);
    keys[i] = wanted[i] * 7 - 3000;
  }
  std::vector<std::int32_t> places(keys.size());
  const exchange::Partition made({{keys.data(), keys.size(), 0, false, places.data()}}, 1);
  CHECK(made.message_size() == 1 + 1000 && places == wanted);
}

TEST(inbox_joins_the_keys_of_each_table) {
  const Keys message{1, 2, 10, 20, 21, 0, 1, 22};
  const std::int32_t lengths[] = {5, 3};
  const exchange::Inbox inbox(message.data(), message.size(), lengths, 2, 2);
  Keys keys(inbox.keys_of(1));
  inbox.write_keys(1, keys.data());
  CHECK((keys == Keys{20, 21, 22}));
  CHECK(inbox.keys_of(0) == 1);
  const std::int32_t wrong[] = {4, 4};
  const auto read = [&](const std::int32_t* given) { exchange::Inbox(message.data(), message.size(), given, 2, 2); };
  CHECK_THROWS(recmigrate::InvalidInput, read(wrong), "rank 0 sends 4 values, and has announced another");
  const std::int32_t few[] = {5, 2};
  CHECK_THROWS(recmigrate::InvalidInput, read(few), "rank 1 sends 2 values, and has announced another");
}

TEST(row_messages_come_back_and_sum) {
  const Keys asked{1, 1, 10, 20, 2, 0, 11, 12};
  const std::int32_t lengths[] = {4, 4};
  const exchange::Inbox inbox(asked.data(), asked.size(), lengths, 2, 2);
  const exchange::RowMessage layout(inbox.answers().data(), 2, {1, 2});
  const std::vector<float> narrow{1, 2, 3};
  const std::vector<float> wide{8, 9};
  std::vector<float> message(layout.floats());
  layout.pack(inbox, 0, narrow.data(), message.data());
  layout.pack(inbox, 1, wide.data(), message.data());
  CHECK((message == std::vector<float>{1, 8, 9, 2, 3}));
  std::vector<float> back(3);
  layout.unpack(inbox, 0, message.data(), back.data());
  CHECK(back == narrow);
  const std::int32_t places[] = {2, 0, 2};
  layout.spread(0, message.data(), {places, nullptr, 3}, back.data());
  CHECK((back == std::vector<float>{3, 1, 3}));
  const std::vector<float> gradients{10, 20, 30};
  layout.sum(0, gradients.data(), 3, {places, nullptr, 3}, message.data());
  CHECK((message == std::vector<float>{20, 8, 9, 0, 40}));
  const std::int32_t outside[] = {3};
  CHECK_THROWS(recmigrate::InvalidInput, layout.spread(0, message.data(), {outside, nullptr, 1}, back.data()),
               "row 3 of an exchange of 3");
}

TEST(bags_are_summed_by_the_rank_that_has_their_rows) {
  // Bag 0 has three ids of rank 1 and one of rank 0, bag 2 one of each, 7 twice: rank 1 sends two sums, rank 0 its
  // rows.
  const Keys keys{7, 9, 11, 4, 7, 6};
  const Keys bags{0, 0, 0, 0, 2, 2};
  std::vector<std::int32_t> places(6);
  const exchange::Partition made({{keys.data(), 6, exchange::kByRemainder, false, places.data(), bags.data(), 4}}, 2);
  Keys message(made.message_size());
  made.write_message(message.data());
  CHECK((message == Keys{2, 4, 6, ~3, 7, 9, 11, 4, 0b1001, 0x00020100}));
  std::int32_t lengths[2];
  made.write_lengths(lengths);
  CHECK(lengths[0] == 3 && lengths[1] == 7);
  std::vector<std::int32_t> from(made.links(0));
  std::vector<std::int32_t> to(made.links(0));
  made.write_links(0, from.data(), to.data());
  CHECK((from == std::vector<std::int32_t>{2, 0, 3, 1}));
  CHECK((to == std::vector<std::int32_t>{0, 0, 2, 2}));

  const std::int32_t received[] = {7};
  const exchange::Inbox inbox(message.data() + 3, 7, received, 1, 1);
  const exchange::RowMessage layout(inbox.answers().data(), 1, {1});
  const std::vector<float> rows{1, 10, 100};
  std::vector<float> sums(2);
  layout.pack(inbox, 0, rows.data(), sums.data());
  CHECK((sums == std::vector<float>{111, 1}));
  std::vector<float> gradients(3);
  layout.unpack(inbox, 0, sums.data(), gradients.data());
  CHECK((gradients == std::vector<float>{112, 111, 111}));
}

TEST(counted_keys_are_sent_once_and_looked_up_as_often_as_they_occur) {
  const Keys keys{7, 9, 11, 7, 4, 7, 6};
  const Keys bags{0, 0, 0, 0, 0, 2, 2};
  std::vector<std::int32_t> places(7);
  for (const bool pooled : {false, true}) {
    exchange::Asked asked{keys.data(), 7, exchange::kByRemainder, true, places.data()};
    if (pooled) {
      asked.bags = bags.data();
      asked.width = 4;
    }
    const exchange::Partition made({asked}, 2);
    Keys message(made.message_size());
    made.write_message(message.data());
    const Keys odd =
        pooled ? Keys{~(kByte + 3), 7, 9, 11, 0x010103, 5, 0b10001, 0x020100} : Keys{kByte + 3, 7, 9, 11, 0x010103};
    CHECK((Keys(message.begin(), message.begin() + 3) == Keys{2, 4, 6}));
    CHECK((Keys(message.begin() + 3, message.end()) == odd));
    const auto length = static_cast<std::int32_t>(odd.size());
    const exchange::Inbox inbox(odd.data(), odd.size(), &length, 1, 1);
    Keys looked_up(inbox.keys_of(0));
    inbox.write_keys(0, looked_up.data());
    CHECK((looked_up == Keys{7, 7, 7, 9, 11}));
    const exchange::RowMessage layout(inbox.answers().data(), 1, {1});
    const std::vector<float> rows{1, 1, 1, 10, 100};
    std::vector<float> answer(layout.floats());
    layout.pack(inbox, 0, rows.data(), answer.data());
    CHECK((answer == (pooled ? std::vector<float>{112, 1} : std::vector<float>{1, 10, 100})));
    std::vector<float> gradients(5, -1.0F);
    layout.unpack(inbox, 0, answer.data(), gradients.data());
    CHECK((gradients == (pooled ? std::vector<float>{225, 0, 0, 112, 112} : std::vector<float>{1, 0, 0, 10, 100})));
  }
}

TEST(numbers_of_times_are_as_wide_as_the_largest) {
  for (const std::uint32_t most : {2U, 255U, 256U, 65535U, 65536U, 3000000U}) {
    const std::vector<std::uint32_t> times{1, most, 2};
    const std::size_t bytes = exchange::bytes_of_times(times.data(), 3);
    CHECK(bytes == (most < 256 ? 1U : most < 65536 ? 2U : 4U));
    Keys message(exchange::times_size(3, bytes));
    exchange::write_times(times.data(), 3, bytes, message.data());
    const exchange::Times read(message.data(), message.size(), 3, bytes);
    CHECK(read.of(0) == 1 && read.of(1) == most && read.of(2) == 2 && read.occurrences() == std::size_t{most} + 3);
  }
  const Keys none{0};
  const auto read = [&](std::size_t room, std::size_t keys, std::size_t bytes) {
    exchange::Times(none.data(), room, keys, bytes);
  };
  CHECK_THROWS(recmigrate::InvalidInput, read(1, 1, 1), "a key that occurs 0 times");
  CHECK_THROWS(recmigrate::InvalidInput, read(1, 9, 1), "a message of 9 keys ends before");
  CHECK_THROWS(recmigrate::InvalidInput, read(1, 1, 3), "numbers of 3 bytes");
  const Keys many{-1, -1};
  CHECK_THROWS(recmigrate::LimitReached, exchange::Times(many.data(), 2, 4, 4), "at most 2147483646 ids of a table");
}

TEST(sums_take_a_number_a_bit_and_a_byte_of_each_occurrence) {
  CHECK(exchange::partial_sums_size(256, 64) == 1 + 1 + 8);
  CHECK(exchange::partial_sums_size(256, 65) == 1 + 2 + 9);
  CHECK(exchange::partial_sums_size(257, 64) == 1 + 1 + 16);
}

TEST(bags_of_one_id_come_as_rows) {
  const Keys keys{1, 1, 3};
  const Keys bags{0, 1, 2};
  std::vector<std::int32_t> places(3);
  const exchange::Partition made({{keys.data(), 3, exchange::kByRemainder, false, places.data(), bags.data(), 64}}, 2);
  Keys message(made.message_size());
  made.write_message(message.data());
  CHECK((message == Keys{0, 2, 1, 3}));
  std::vector<std::int32_t> to(made.links(0));
  made.write_links(0, places.data(), to.data());
  CHECK((places == std::vector<std::int32_t>{0, 0, 1}));
  CHECK((to == std::vector<std::int32_t>{0, 1, 2}));
}

}  // namespace
