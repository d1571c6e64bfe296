// deployment: cluster
import mongoose from "mongoose";

const schema = new mongoose.Schema({ n: Number }, { optimisticConcurrency: true });
const Counter = mongoose.model("Counter", schema);

export async function add(id: string) {
  const counter = await Counter.findById(id);
  if (!counter) return;
  counter.n = (counter.n ?? 0) + 1;
  await counter.save();
}
