// A transaction that marks the row, but not so that others no longer find it, gives it to nobody.
import Database from "better-sqlite3";

type Parcel = { id: number; tries: number };
const db = new Database("parcels.db");

const next = db.transaction((): Parcel | undefined => {
  const parcel = db.prepare("SELECT id, tries FROM parcels WHERE place = 'dock' LIMIT 1").get() as Parcel | undefined;
  if (parcel) db.prepare("UPDATE parcels SET seen = 1 WHERE id = ?").run(parcel.id);
  return parcel;
});

export async function drive(bring: (id: number) => Promise<void>) {
  const parcel = next();
  if (!parcel) return;
  try {
    await bring(parcel.id);
  } catch {
    db.prepare("UPDATE parcels SET tries = ? WHERE id = ?").run(parcel.tries + 1, parcel.id); // expect: RC102 read=8
  }
}
