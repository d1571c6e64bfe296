// What a transaction has taken out of the queue nobody else finds: its owner knows what stands in it.
import Database from "better-sqlite3";

type Parcel = { id: number; tries: number };
const db = new Database("parcels.db");

const next = db.transaction((): Parcel | undefined => {
  const parcel = db.prepare("SELECT id, tries FROM parcels WHERE place = 'dock' LIMIT 1").get() as Parcel | undefined;
  if (parcel) db.prepare("UPDATE parcels SET place = 'van' WHERE id = ?").run(parcel.id);
  return parcel;
});

export async function drive(bring: (id: number) => Promise<void>) {
  const parcel = next();
  if (!parcel) return;
  try {
    await bring(parcel.id);
  } catch {
    db.prepare("UPDATE parcels SET place = 'dock', tries = ? WHERE id = ?").run(parcel.tries + 1, parcel.id);
  }
}
