// Only what was assigned is written.
const mongoose = require("mongoose");

const Seat = mongoose.model("Seat", new mongoose.Schema({ label: String, uses: Number }));

exports.rename = async (id, label) => {
  const seat = await Seat.findById(id);
  if (!seat) throw new Error("none");
  seat.label = label;
  await seat.save();
};
