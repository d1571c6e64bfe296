import { Controller, Param, Post } from "@nestjs/common";
import { InjectRepository } from "@nestjs/typeorm";
import { Repository } from "typeorm";
import { Show } from "./show";

@Controller("shows")
export class Shows {
  constructor(@InjectRepository(Show) private readonly shows: Repository<Show>) {}

  @Post(":id")
  async take(@Param("id") id: number) {
    await this.shows.decrement({ id }, "places", 1);
  }
}
