-- Write: only the token that touched the row last may. Set @id, @fence, @fence_lease and @balance first.
-- `written` is 0 if a newer holder has touched the row; nothing was changed then.
UPDATE accounts SET balance = @balance WHERE id = @id AND fence = @fence AND fence_lease = @fence_lease;
SELECT ROW_COUNT() > 0 OR EXISTS (SELECT 1 FROM accounts
  WHERE id = @id AND fence = @fence AND fence_lease = @fence_lease AND balance = @balance) AS written;
