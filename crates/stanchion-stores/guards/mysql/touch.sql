-- Touch: this is the read. It raises the row's fence to your token and reads the row, in one transaction.
-- Set @id, @fence ($STANCHION_FENCE) and @fence_lease ($STANCHION_LEASE_ID) first.
-- `accepted` is 0 if a newer holder has been here: stop, and lock again with a fence above `floor`.
START TRANSACTION;
UPDATE accounts SET fence = @fence, fence_lease = @fence_lease WHERE id = @id AND fence < @fence;
SELECT fence = @fence AND fence_lease = @fence_lease AS accepted, fence AS floor, balance
  FROM accounts WHERE id = @id FOR UPDATE;
COMMIT;
