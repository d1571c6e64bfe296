// deployment: cluster
import mongoose from "mongoose";

const userSchema = new mongoose.Schema({ email: { type: String, unique: true, required: true } });
const User = mongoose.model("User", userSchema);

const seatSchema = new mongoose.Schema({ hall: String, number: Number });
seatSchema.index({ hall: 1, number: 1 }, { unique: true });
const Seat = mongoose.model("Seat", seatSchema);

export async function register(email: string) {
  if (await User.exists({ email })) return false;
  await User.create({ email });
  return true;
}

export async function take(hall: string, number: number) {
  if (await Seat.findOne({ hall, number })) return false;
  await Seat.create({ hall, number });
  return true;
}
